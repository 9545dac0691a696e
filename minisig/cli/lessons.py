"""minisig lessons: what there is to learn."""

import click


@click.command(short_help="Seven short scripts that teach.")
def lessons() -> None:
    """List the lessons: short scripts, a few seconds each, that teach one idea by running it.

    Each ends in a figure, in the current folder or in --out FOLDER, and a
    question to try.

    \b
    minisig lessons
    python -m minisig.lessons.neuron
    python -m minisig.lessons.depth --out figures
    """
    from minisig.lessons import titles

    for name, title in titles().items():
        click.echo(f"python -m minisig.lessons.{name}\n    {title}")
