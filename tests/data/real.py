"""The real MNIST and Penn Treebank, where they are at hand: in $MINISIG_DATA or the user's cache."""

import pytest

from minisig.data.folder import complete_folder
from minisig.data.public import MNIST, PTB

# Where they are before a test goes elsewhere, or says that they are.
FOLDERS = {public.name: folder.absolute() for public in (MNIST, PTB) if (folder := complete_folder(public))}


def needs(name):
    return pytest.mark.skipif(name not in FOLDERS, reason=f"{name} is not here")


needs_mnist, needs_ptb = needs("mnist"), needs("ptb")
