"""Answers as lines that can be compared: what two of them have in common is the same text.

The first line is the list of variables, as JSON, or ``null`` where there are none (ASK, CONSTRUCT, DESCRIBE). Then
comes a line for each solution, which is the object that SPARQL 1.1 Query Results JSON has for it; ``{}`` for the yes of
ASK; or one for each triple, in N-Triples. Where the query sets no order, lines are sorted: the same answer is the same
bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import IO

import pyoxigraph as ox

from endpoint.graphs.dataset import EndpointDataset, one_shot
from endpoint.graphs.processor import Functions, OxigraphResult
from endpoint.readers.exchange import LinesQuestion
from protocol.entailment.regimes import Regime
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.formats.xml.text import Output
from protocol.functions.table import CUSTOM_FUNCTIONS
from protocol.terms import blank_nodes, rename_blank_nodes

_LINES_AT_ONCE = 1000


def write_lines(
    dataset: EndpointDataset,
    question: LinesQuestion,
    output: Output | IO[bytes],
    *,
    functions: Functions = CUSTOM_FUNCTIONS,
    union: bool = False,
    regime: Regime = Regime.NONE,
) -> None:
    """Answer the question, with functions, union and regime as for ``one_shot``.

    Raises ProtocolError as that and the output do.
    """
    result = one_shot(
        dataset,
        question.text,
        base=question.base,
        default_graphs=question.default_graphs,
        named_graphs=question.named_graphs,
        functions=functions,
        union=union,
        regime=regime,
    )
    with closing(result):
        lines = _lines(result, question)
        for start in range(0, len(lines), _LINES_AT_ONCE):
            output.write(b"".join(line + b"\n" for line in lines[start : start + _LINES_AT_ONCE]))


def _lines(result: OxigraphResult, question: LinesQuestion) -> Sequence[bytes]:
    if result.type == "CONSTRUCT":
        if question.draws_nodes:
            assert isinstance(result.answer, ox.QueryTriples)
            return [b"null", *sorted(set(_labelled(result.answer)))]
        return [b"null", *sorted(set(result.write(RdfSyntax.N_TRIPLES).splitlines()))]
    if result.type == "ASK":
        return [b"null", b"{}"] if result.askAnswer else [b"null"]
    document = json.loads(result.write(SolutionsFormat.JSON))
    solutions = [_compact(solution) for solution in document["results"]["bindings"]]
    if not question.ordered:
        solutions.sort()
    return [_compact(document["head"]["vars"]), *solutions]


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _labelled(triples: Iterable[ox.Triple]) -> Iterator[bytes]:
    """The triples in N-Triples, with labels that follow from what is said of a blank node, and of those beside it.

    A node that is made anew at each evaluation has the same label as long as the same is said of it. Where several are
    told apart by nothing, they are numbered.
    """
    alike: Counter[str] = Counter()
    for part in _parts(triples):
        canonical = ox.Dataset(ox.Quad(*triple) for triple in part)
        canonical.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
        text = sorted(str(quad.triple) for quad in canonical)
        digest = hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]
        alike[digest] += 1
        prefix = f"b{digest}n{alike[digest]}"
        for line in text:
            yield f"{rename_blank_nodes(line, partial(_prefixed, prefix))} .".encode()


def _prefixed(prefix: str, node: str) -> str:
    return f"_:{prefix}{node.removeprefix('_:')}"


def _parts(triples: Iterable[ox.Triple]) -> Iterable[Sequence[ox.Triple]]:
    """The triples, divided so that no blank node is in two parts, also where it is within a triple term."""
    found = [(triple, list(blank_nodes(str(triple)))) for triple in triples]
    above: dict[str, str] = {}

    def root(node: str) -> str:
        while (parent := above.setdefault(node, node)) != node:
            above[node] = above[parent]
            node = above[node]
        return node

    for _, nodes in found:
        for node in nodes[1:]:
            above[root(node)] = root(nodes[0])
    parts: defaultdict[str | None, list[ox.Triple]] = defaultdict(list)
    for triple, nodes in found:
        parts[root(nodes[0]) if nodes else None].append(triple)
    return parts.values()
