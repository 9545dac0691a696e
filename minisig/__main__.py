"""`python -m minisig` is `minisig`."""

from minisig.cli import main

main(prog_name="minisig")
