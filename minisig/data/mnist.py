"""MNIST: 60,000 + 10,000 handwritten digits of 28×28 pixels, as IDX files.

Pixels 0 … 255 become [−1, 1]; the last sixth of the training images, 10,000, is held out to select on. The files are
looked for under their public names, gzipped or not, in $MINISIG_DATA/mnist and in minisig's folder of the user's cache.

An IDX file is a big-endian header, two zero bytes, a type (8 for unsigned bytes), the number of axes and the length
of each, and then the bytes themselves. (Y. LeCun, C. Cortes, C. Burges.)
"""

import struct
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from minisig.data.dataset import Dataset, Split
from minisig.data.folder import data_folder
from minisig.data.hashes import content_hash
from minisig.data.prepared import VectorInputs
from minisig.data.public import MNIST
from minisig.data.raw import pieces, reading, require_file
from minisig.data.scaling import scaled_pixels
from minisig.errors import DataError

UNSIGNED_BYTES = 8
MAX_BYTES = 2**31
NAMES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def load_mnist(folder: Path | None = None) -> Dataset:
    """MNIST, or the user's own folder of IDX files with the same names."""
    own, folder = folder, folder or data_folder(MNIST)
    x, y, image = _images(folder, "train")
    x_test, y_test, image_test = _images(folder, "test")
    classes = int(y.max()) + 1
    if (y == y[0]).all():
        raise DataError(f"{folder}: all training labels are {y[0]}; at least two classes are needed")
    held_out = len(x) // 6
    if held_out == 0:
        raise DataError(f"{folder}: {len(x)} training images are too few to hold a sixth of them out")
    if image_test != image:
        raise DataError(f"{folder}: test images have shape {image_test}, training images {image}")
    if y_test.max() >= classes:
        raise DataError(
            f"{folder}: label {y_test.max()} in the test part, but the training labels are 0 … {classes - 1}"
        )
    return Dataset(
        name=folder.name,
        train=Split(scaled_pixels(x[:-held_out]), y[:-held_out]),
        valid=Split(scaled_pixels(x[-held_out:]), y[-held_out:]),
        test=Split(scaled_pixels(x_test), y_test),
        classes=classes,
        image=(shape := image if len(image) == 2 else None),
        prepared=VectorInputs(x.shape[1], pixels=True, image=shape),
        content=content_hash(str(own)) if own else "",
    )


def _images(folder: Path, part: str) -> tuple[Any, Any, tuple[int, ...]]:
    """Images as rows (N, n), labels (N,), and the shape of an image."""
    images, labels = (read_idx(require_file(folder, name)) for name in NAMES[part])
    if images.ndim < 2 or labels.ndim != 1 or len(images) != len(labels) or images.size == 0:
        raise DataError(f"{folder}: {part} images have shape {images.shape} and labels {labels.shape}")
    return images.reshape(len(images), -1), labels.astype(np.int64), images.shape[1:]


def read_idx(path: Path) -> Any:
    """The array in an IDX file of unsigned bytes, whose size must be what its header says."""
    with reading(path) as file:
        start = file.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or start[2] != UNSIGNED_BYTES or not 1 <= start[3] <= 4:
            raise DataError(f"{path}: not an IDX file of bytes: it starts with {start.hex(' ') or 'nothing'}")
        lengths = file.read(4 * start[3])
        if len(lengths) < 4 * start[3]:
            raise DataError(f"{path}: ends at byte {4 + len(lengths)}, within its header")
        shape = struct.unpack(f">{start[3]}I", lengths)
        size = prod(shape)
        if size > MAX_BYTES:
            raise DataError(f"{path}: its header asks for an array of shape {shape}")
        content = bytearray()
        for piece in pieces(file, size + 1):
            content += piece
    if len(content) != size:
        there = "more" if len(content) > size else f"{len(content):,}"
        raise DataError(f"{path}: its header promises {size:,} bytes, there are {there}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)
