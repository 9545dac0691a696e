"""The stand-in for libcublas: cublas.cpp, and a refusal for every other function that CuPy links to."""

import ctypes
import re
from collections import Counter
from pathlib import Path

from .build import HERE, run, shared_library, write

REFUSAL = 'extern "C" int {name}() {{ return host_cublas_refuse("{name}"); }}\n'


class Cublas:
    """The library, loaded under the name by which CuPy's own module cupy_backends.cuda.libs.cublas looks for it."""

    def __init__(self, folder: Path, extension: Path) -> None:
        """`extension` is that module's file."""
        self.library = ctypes.CDLL(str(build_cublas(folder, extension)), mode=ctypes.RTLD_GLOBAL)
        self.library.host_cublas_use.argtypes = [ctypes.c_void_p] * 2
        self.library.host_cublas_use(*(_scipy_blas(name) for name in ("sgemm", "dgemm")))
        self.library.host_cublas_calls.restype = ctypes.c_void_p
        self.library.host_cublas_calls.argtypes = [ctypes.c_void_p] * 3

    def calls(self) -> Counter[str]:
        """How often each function has been called so far, those that compute."""
        found: Counter[str] = Counter()
        name, count, at = ctypes.c_char_p(), ctypes.c_long(), None
        while at := self.library.host_cublas_calls(at, ctypes.byref(name), ctypes.byref(count)):
            found[(name.value or b"").decode()] = count.value
        return found


def build_cublas(folder: Path, extension: Path) -> Path:
    source = (HERE / "cublas.cpp").read_text()
    symbols = run(["nm", "-D", "--undefined-only", str(extension)], f"no symbols of {extension}")
    needed = dict(re.findall(r"\bU (cublas\w+)@(\S+)", symbols))
    (version,) = set(needed.values())  # libcublas.so.13: the library's name, and that of all its symbols' version
    here = set(re.findall(r"\bint (cublas\w+)\(", source))
    for kind in "SD":
        here |= {name.replace("##X##", kind) for name in re.findall(r"\bint (cublas##X##\w+)\(", source)}
    source += "".join(REFUSAL.format(name=name) for name in sorted(needed.keys() - here))
    versions = folder / f"{version}.map"
    write(versions, f"{version} {{ global: *; }};\n")
    flags = ("-O2", f"-Wl,--version-script={versions}", f"-Wl,-soname,{version}")
    return shared_library(folder, source, name="libcublas", flags=flags)


def _scipy_blas(name: str) -> int:
    """The address of SciPy's own, which it exports to Cython."""
    from scipy.linalg import cython_blas

    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
    api.PyCapsule_GetName.restype = ctypes.c_void_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    capsule = cython_blas.__pyx_capi__[name]
    return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))
