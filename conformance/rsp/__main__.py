"""``python -m conformance.rsp expect``: the expected answers beside the oracle's; ``table``: README.md's table anew."""

from __future__ import annotations

import sys

import click

from conformance.rsp.case import Refusal, case_of, select_cases
from conformance.rsp.expected import difference
from conformance.rsp.oracle.player import expected_of
from conformance.rsp.table import README, table, written_into


@click.group()
def main() -> None:
    """Look after the RSP-QL cases."""


@main.command()
@click.argument("names", nargs=-1, metavar="[rsp/FEATURE ...]")
@click.option("--write", is_flag=True, help="Write what the oracle expects.")
def expect(names: tuple[str, ...], write: bool) -> None:
    """Compare what the cases expect with the oracle; ends with 1 if it is not the same."""
    differs = False
    for test in select_cases(names):
        case = case_of(test)
        if isinstance(case.expected, Refusal):
            continue
        made = expected_of(case)
        wrong = difference(made, case.expected, ordered=case.ordered)
        if wrong is not None:
            differs = True
            click.echo(f"{test.iri}: {wrong}")
            if write:
                lines = [one.write(graph=case.is_graph) + "\n" for one in made]
                case.result.write_text("".join(lines), "utf-8")
    sys.exit(differs and not write)


@main.command("table")
def write_table() -> None:
    """Write the table of features into README.md."""
    README.write_text(written_into(README.read_text("utf-8"), table(select_cases())), "utf-8")


if __name__ == "__main__":
    main()
