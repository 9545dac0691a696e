"""What a run of a comparison is known by: what its configuration says beside the defaults, and the user's own data.

A setting that a later version brings, with a default, is in nobody's identity: no finished run is orphaned by it.
"""

from hashlib import sha256

import msgspec

from minisig.settings import changed


def identity(config: msgspec.Struct) -> bytes:
    """The settings that differ from their defaults, or have none, as JSON with sorted keys.

    >>> from minisig.training.config import NetworkConfig
    >>> identity(NetworkConfig(hidden=(8, 8), dropout=0.0, init="lecun"))
    b'{"hidden":[8,8],"init":"lecun"}'
    """
    return msgspec.json.encode(changed(config), order="sorted")


def known_by(*parts: bytes) -> str:
    """A short hash of what identifies something."""
    return sha256(b"".join(parts)).hexdigest()[:16]
