"""A hash of the user's own data: what a model was trained on, and whether it is still the same."""

from hashlib import file_digest, sha256
from pathlib import Path


def content_hash(path: str | None, *more: str) -> str:
    """A hash of the user's own data; none of what cannot be read here, but perhaps by a cluster's workers."""
    if path is None:
        return ""
    own, content = Path(path), sha256()
    files = [own] if own.is_file() else sorted(own.glob("*-ubyte*")) + sorted(own.glob("*.txt*"))
    files += map(Path, more)
    try:
        for file in filter(Path.is_file, files):  # a pipe or a device may never end
            with file.open("rb") as opened:
                content.update(file_digest(opened, "sha256").digest())
    except OSError:
        return ""
    return content.hexdigest() if files else ""
