"""A plan's statement as a program of Spark SQL: named tables, one after the other, and a SELECT over them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spark_backend.spark_sql.translation.slices import WindowSlice


@dataclass(frozen=True)
class Table:
    """An intermediate table. ``kept``: it is computed once and held; otherwise it is a view, computed where it is read.

    It has to be kept where it numbers its rows, and it pays where it is read more than once.
    """

    name: str
    sql: str
    kept: bool


@dataclass(frozen=True)
class Fixpoint:
    """A set of rows that grows until a step finds none that are new (SPARQL 1.1 Query section 18.4, ALP).

    ``first`` gives the rows to begin with; ``longer`` those that follow from the rows in the table ``latest`` and
    are not in the table ``name``.
    """

    name: str
    latest: str
    first: str
    longer: str


ProgramStep = Table | Fixpoint


@dataclass(frozen=True)
class Program:
    """Steps, and the SELECT that gives the statement's rows in its order.

    Names of tables begin with ``prefix``, which nothing else in the texts has: see ``with_prefix``. ``slices`` are the
    parts of windows that it reads as tables of their own.
    """

    steps: tuple[ProgramStep, ...]
    select: str
    prefix: str
    slices: tuple[WindowSlice, ...] = ()


def with_prefix(program: Program, prefix: str) -> Program:
    """The program with another prefix to its tables' names."""

    def own(text: str) -> str:
        return text.replace(program.prefix, prefix)

    steps: list[ProgramStep] = []
    for step in program.steps:
        match step:
            case Table(name, sql):
                steps.append(replace(step, name=own(name), sql=own(sql)))
            case Fixpoint(name, latest, first, longer):
                steps.append(Fixpoint(own(name), own(latest), own(first), own(longer)))
    slices = tuple(part.with_prefix(program.prefix, prefix) for part in program.slices)
    return replace(program, steps=tuple(steps), select=own(program.select), prefix=prefix, slices=slices)
