"""Files of numbers as their formats have them, byte by byte: IDX, .npy and .npz."""

import io
import struct
import zipfile

import numpy as np


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def archive(members, method=zipfile.ZIP_STORED):
    """An .npz file of these arrays, or of whatever bytes are given for them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as zipped:
        for name, content in members.items():
            zipped.writestr(f"{name}.npy", content)
    return file.getvalue()


def with_header(header, version=1, length=None):
    """The start of an .npy file of this header, which need not be a sensible one, nor of the length it says."""
    header = header.encode("latin-1")
    size = struct.pack("<H" if version == 1 else "<I", len(header) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + header


def array_header(shape, descr="'<f8'", **options):
    """That of an array, of a hundred bytes if it is a usual one."""
    return with_header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(90), **options)
