"""Compare the public data sets on this machine with their published hashes: `minisig data verify`.

python data_scripts/verify.py
"""

import sys

from minisig.cli import main

if __name__ == "__main__":
    main(["data", "verify", *sys.argv[1:]])
