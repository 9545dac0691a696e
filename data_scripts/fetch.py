"""Fetch the public data sets: `minisig data fetch` with the same arguments.

python data_scripts/fetch.py mnist ptb
python data_scripts/fetch.py ptb --from simple-examples.tgz
"""

import sys

from minisig.cli import main

if __name__ == "__main__":
    main(["data", "fetch", *sys.argv[1:]])
