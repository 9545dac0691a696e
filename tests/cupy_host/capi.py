"""Replaces the C functions that Cython modules export to each other.

A Cython module that exports functions has a table `__pyx_capi__`, {name: capsule}: the capsule holds a C function, its
name is the signature. Modules that use it copy the pointers when they are imported. Here every function of a table
gets a stand-in, generated from the signature, that turns its arguments into Python objects, calls a Python function
and turns the answer back. If that raises, the stand-in leaves the exception set and returns the value for which
Cython's callers look after it (`except? -1` and the like); so it comes out of CuPy as any other. ctypes could not do
that: its callbacks print an exception and go on.
"""

import ctypes
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .build import shared_library

api = ctypes.pythonapi
api.PyCapsule_GetName.restype = ctypes.c_void_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

# C types as they are written in signatures, the type that we give them, and what is returned with an exception.
TYPES = {
    "PyObject *": ("PyObject*", "nullptr"),
    "int": ("int", "-1"),
    "unsigned int": ("unsigned", "0"),
    "intptr_t": ("intptr_t", "0"),
    "size_t": ("size_t", "size_t(-1)"),
    "uintmax_t": ("uintmax_t", "0"),
    "float": ("float", "0"),
    "cudaMemcpyKind": ("int", "-1"),
    "CUdevice": ("int", "-1"),
}
EXTRA = {"int __pyx_skip_dispatch": "int", "__pyx_optional_args": "void*"}  # arguments of Cython's own, not handed on

# The few functions of Python's stable interface that are needed; its headers are not installed everywhere.
HEADER = """
#include <cstddef>
#include <cstdint>

struct PyObject;
extern "C" {
PyObject *PyLong_FromLongLong(long long), *PyLong_FromUnsignedLongLong(unsigned long long);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
long long PyLong_AsLongLong(PyObject*);
unsigned long long PyLong_AsUnsignedLongLongMask(PyObject*);
double PyFloat_AsDouble(PyObject*);
PyObject* PyErr_Occurred();
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
extern PyObject _Py_NoneStruct;
}

static PyObject* functions[%(count)d];
static bool closed;  // the interpreter is about to end: our functions may have lost what they need

static PyObject* object(int x) { return PyLong_FromLongLong(x); }
static PyObject* object(intptr_t x) { return PyLong_FromLongLong(x); }
static PyObject* object(unsigned x) { return PyLong_FromUnsignedLongLong(x); }
static PyObject* object(size_t x) { return PyLong_FromUnsignedLongLong(x); }
static PyObject* object(PyObject* x) { Py_IncRef(x); return x; }

template <class... O>
static PyObject* call(PyObject* function, O... objects) {
    PyObject* answer = PyObject_CallFunctionObjArgs(function, objects..., nullptr);
    (Py_DecRef(objects), ...);
    return answer;
}

static void value(PyObject* answer, int& x) { x = (int)PyLong_AsLongLong(answer); }
static void value(PyObject* answer, intptr_t& x) { x = PyLong_AsLongLong(answer); }
static void value(PyObject* answer, unsigned& x) { x = (unsigned)PyLong_AsUnsignedLongLongMask(answer); }
static void value(PyObject* answer, size_t& x) { x = PyLong_AsUnsignedLongLongMask(answer); }
static void value(PyObject* answer, float& x) { x = (float)PyFloat_AsDouble(answer); }
static void value(PyObject* answer, PyObject*& x) { Py_IncRef(x = answer); }

template <class R>
static R nothing() { return R{}; }
template <>
PyObject* nothing() { return object(&_Py_NoneStruct); }

template <class R, class... A>
static R answer(int which, R failed, A... arguments) {
    if (closed) return nothing<R>();  // destructors of the last arrays; what they hold is freed with the process
    PyObject* answer = call(functions[which], object(arguments)...);
    if (!answer) return failed;
    R result{};
    value(answer, result);
    Py_DecRef(answer);
    return PyErr_Occurred() ? failed : result;
}

extern "C" void host_set_function(int which, PyObject* function) { Py_IncRef(functions[which] = function); }
extern "C" void host_close() { closed = true; }
"""


class Stub:
    """The stand-in of one function: its C source, generated from the signature."""

    def __init__(self, number: int, signature: str) -> None:
        result, arguments = re.fullmatch(r"(.*?) ?\((.*)\)", signature).groups()
        self.name = f"host_function_{number}"
        kind, failed = TYPES[result]
        taken, given = [], []
        for i, argument in enumerate(a.strip() for a in arguments.split(",") if a.strip() != "void"):
            extra = next((c for marker, c in EXTRA.items() if marker in argument), None)
            c_type = extra or TYPES[argument][0]
            taken.append(c_type if extra else f"{c_type} a{i}")
            if not extra:
                given.append(f", a{i}")
        self.source = (
            f'extern "C" {kind} {self.name}({", ".join(taken)}) '
            f"{{ return answer<{kind}>({number}, {failed}{''.join(given)}); }}"
        )


def replaceable(module: ModuleType) -> dict[str, str]:
    """Names and signatures of the functions in the table whose types we know."""
    found = {}
    for name, capsule in module.__pyx_capi__.items():
        signature = ctypes.string_at(api.PyCapsule_GetName(capsule)).decode()
        signature = re.sub(r"struct __pyx_obj_\w+ \*", "PyObject *", signature)  # an object of a class of Cython's
        words = re.split(r"[(),]", signature)
        known = (w.strip() in TYPES or w.strip() in ("", "void") or any(m in w for m in EXTRA) for w in words)
        if "(" in signature and all(known):
            found[name] = signature
    return found


def replace(modules: Mapping[ModuleType, Mapping[str, Callable[..., Any]]], folder: Path) -> Callable[[], None]:
    """Put these functions in place of the modules' own, for C and for Python; returns what disconnects them again.

    Nothing may have imported from the modules yet.
    """
    wanted = [(module, name, function) for module, functions in modules.items() for name, function in functions.items()]
    stubs = [Stub(i, replaceable(module)[name]) for i, (module, name, _) in enumerate(wanted)]
    source = HEADER % {"count": len(wanted)} + "\n".join(stub.source for stub in stubs)
    library = ctypes.PyDLL(str(shared_library(folder, source, name="capi", flags=("-O1",))))
    library.host_set_function.argtypes = [ctypes.c_int, ctypes.py_object]
    for i, ((module, name, function), stub) in enumerate(zip(wanted, stubs, strict=True)):
        library.host_set_function(i, function)  # and is kept for ever: the last arrays die after all Python modules
        address = ctypes.cast(getattr(library, stub.name), ctypes.c_void_p)
        signature = api.PyCapsule_GetName(module.__pyx_capi__[name])  # a constant of the module's, which stays
        module.__pyx_capi__[name] = api.PyCapsule_New(address, signature, None)
        setattr(module, name, function)
    return library.host_close
