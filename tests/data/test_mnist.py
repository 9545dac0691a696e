"""IDX files, and the real MNIST where it is at hand."""

import gzip
import struct

import numpy as np
import pytest

from minisig.data import DataConfig, load
from minisig.data.mnist import read_idx
from minisig.errors import DataError
from tests.data.formats import idx
from tests.data.real import needs_mnist


@pytest.fixture
def folder(tmp_path):
    """Twelve training and three test images of 2×3 pixels, the last two of the training part held out."""
    rng = np.random.default_rng(0)
    arrays = {
        "train-images-idx3-ubyte": rng.integers(0, 256, (12, 2, 3)),
        "train-labels-idx1-ubyte": np.arange(12) % 5,
        "t10k-images-idx3-ubyte": rng.integers(0, 256, (3, 2, 3)),
        "t10k-labels-idx1-ubyte": np.arange(3),
    }
    for name, array in arrays.items():
        (tmp_path / name).write_bytes(idx(array))
    return tmp_path, arrays


def read(path):
    return load(DataConfig(source="images", path=str(path)))


def test_pixels_are_scaled_and_the_last_training_images_held_out(folder):
    path, arrays = folder
    data = read(path)
    pixels = arrays["train-images-idx3-ubyte"].reshape(12, 6)
    np.testing.assert_allclose(data.train.x, pixels[:10] / 127.5 - 1, atol=1e-6)
    np.testing.assert_allclose(data.valid.x, pixels[10:] / 127.5 - 1, atol=1e-6)
    np.testing.assert_array_equal(data.valid.y, [0, 1])
    assert len(data.test.x) == 3
    assert data.classes == 5


def test_gzipped_files_read_the_same(folder):
    path, _ = folder
    plain = read(path)
    for file in list(path.iterdir()):
        (path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    np.testing.assert_array_equal(read(path).train.x, plain.train.x)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["starts with nothing"]),
        (b"<html>not found</html>", ["3c 68 74 6d"]),
        (struct.pack(">HBBI", 0, 13, 1, 5) + bytes(5), ["not an IDX file of bytes"]),
        (struct.pack(">HBBI", 0, 8, 1, 9) + bytes(5), ["promises 9 bytes, there are 5"]),
        (struct.pack(">HBBI", 0, 8, 1, 3) + bytes(5), ["promises 3 bytes, there are more"]),
        (struct.pack(">HBBIII", 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1), ["asks for an array"]),
        (struct.pack(">HBB", 0, 8, 3) + b"\0\0", ["ends at byte 6, within its header"]),
    ],
    ids=["empty", "html", "floats", "short", "long", "lying", "cut header"],
)
def test_a_bad_idx_file_is_refused_by_name(tmp_path, content, words):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_idx(path)
    assert all(word in str(error.value) for word in ["images", *words])


def test_a_damaged_gzip_file_is_refused(tmp_path):
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(idx(np.arange(1000) % 256))[:-20])
    with pytest.raises(DataError, match="cannot be read"):
        read_idx(path)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("train-labels-idx1-ubyte", np.arange(11), "labels"),
        ("t10k-labels-idx1-ubyte", np.array([0, 1, 9]), "label 9 in the test part"),
        ("t10k-images-idx3-ubyte", np.zeros((3, 4, 4)), r"test images have shape \(4, 4\), training images \(2, 3\)"),
        ("train-images-idx3-ubyte", np.zeros((12,)), "images have shape"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(folder, name, array, words):
    path, _ = folder
    (path / name).write_bytes(idx(array))
    with pytest.raises(DataError, match=words):
        read(path)


def test_a_missing_file_is_named(folder):
    path, _ = folder
    (path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match=r"holds no t10k-labels-idx1-ubyte, gzipped or not"):
        read(path)


@needs_mnist
def test_the_real_mnist_has_its_published_statistics():
    data = load("mnist")
    assert (data.train.x.shape, data.valid.x.shape, data.test.x.shape) == ((50_000, 784), (10_000, 784), (10_000, 784))
    pixels = (np.concatenate([data.train.x, data.valid.x]) + 1) / 2
    assert pixels.mean(dtype=float) == pytest.approx(0.1307, abs=5e-5)
    assert pixels.std(dtype=float) == pytest.approx(0.3081, abs=5e-5)
    counts = np.bincount(np.concatenate([data.train.y, data.valid.y]))
    assert counts.tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert (pixels.std(axis=0) == 0).sum() == 67  # constant pixels, which the ellipse projection must survive


def test_a_single_class_is_nothing_to_learn(folder):
    path, _ = folder
    (path / "train-labels-idx1-ubyte").write_bytes(idx(np.full(12, 3)))
    with pytest.raises(DataError, match="all training labels are 3; at least two classes"):
        read(path)
