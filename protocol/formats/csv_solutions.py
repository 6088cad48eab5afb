"""Solutions as CSV (SPARQL 1.1 Query Results CSV and TSV Formats, section 3).

Oxigraph's own writer leaves an IRI with a comma in it without quotes, so that it is read as two values.
"""

from __future__ import annotations

import re

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Triple

from protocol.formats.xml.text import Output

_TO_QUOTE = re.compile(r'[",\r\n]')
_CHUNK_ROWS = 256


def write_csv(solutions: QuerySolutions, output: Output) -> None:
    """A header of the variables' names and a record for each solution; what is unbound is empty.

    Raises RuntimeError and OSError as the evaluation does.
    """
    names = [variable.value for variable in solutions.variables]
    commas = len(names) - 1 if names else 0
    kept = [_record(names, commas)]
    for solution in solutions:
        values = [
            "" if term is None else f"_:{term.value}" if term.__class__ is BlankNode else _value(term)
            for term in solution
        ]
        kept.append(_record(values, commas))
        if len(kept) >= _CHUNK_ROWS:
            output.write("".join(kept).encode())
            kept.clear()
    output.write("".join(kept).encode())
    output.flush()


def _record(values: list[str], commas: int) -> str:
    record = ",".join(values)
    # Few records have anything to quote: they are looked at as wholes first.
    if record.count(",") != commas or '"' in record or "\n" in record or "\r" in record:
        record = ",".join(_quoted(value) for value in values)
    return f"{record}\r\n"


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if _TO_QUOTE.search(value) else value


def _value(term: NamedNode | BlankNode | Literal | Triple) -> str:
    if isinstance(term, Triple):  # RDF 1.2
        return f"{_value(term.subject)} {_value(term.predicate)} {_value(term.object)}"
    return f"_:{term.value}" if isinstance(term, BlankNode) else term.value
