"""Event patterns under RDFS: what the oracle gives of elements that were sent with all that follows from them."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.rsp.case import Case
from conformance.rsp.expected import difference
from conformance.rsp.oracle.player import expected_of
from protocol.entailment.closure import closure
from protocol.entailment.regimes import Regime
from protocol.errors import UnsupportedFeature
from tests.spark_backend.engine import test_event_properties as without
from tests.spark_backend.model.test_rsp_cases import played

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SCHEMA = (
    f":p <{RDFS}subPropertyOf> :q .",
    f":q <{RDFS}subPropertyOf> :r .",
    f":p <{RDFS}domain> :C .",
    f":q <{RDFS}range> :D .",
    f":C <{RDFS}subClassOf> :D .",
)
_groups = st.sampled_from((*without.GROUPS[:7], "{ ?x a :C }", "{ ?y a :D }", "{ ?x a :D . ?z :q ?x }", "{ ?x :r ?y }"))
_operations = st.builds("{} {} {}".format, _groups, st.sampled_from(without.OPERATORS), _groups)
_patterns = st.one_of(_operations, st.builds("{{ {} }} SEQ {}".format, _operations, _groups))

NONE: set[ox.Triple] = set()


def triples(turtle: Sequence[str]) -> set[ox.Triple]:
    text = f"PREFIX : <http://example.org/> {' '.join(turtle)}"
    return {quad.triple for quad in ox.parse(text.encode(), ox.RdfFormat.TURTLE)}


def with_what_follows(content: Sequence[str], schema: set[ox.Triple]) -> list[str]:
    """A message with all that follows from it, by itself or with the schema, and not from the schema alone."""
    sent = triples(content)
    found = sent.union(*(closure(Regime.RDFS, said | sent) - closure(Regime.RDFS, said) for said in (NONE, schema)))
    return [f"{one} ." for one in sorted(map(str, found))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, Case]:
    """A case, and the same with elements that say what follows from them."""
    operator = draw(st.sampled_from(["", "ISTREAM", "DSTREAM"]))
    query = draw(st.sampled_from(without.SELECTS)).replace("OPERATOR", operator)
    query = query.replace("WINDOW", draw(without.windows)).replace("PATTERN", draw(_patterns))
    sent = draw(without.elements)
    schema = draw(st.lists(st.sampled_from(SCHEMA), unique=True))
    lateness, said = draw(st.integers(0, 9)), triples(schema)

    def case(contents: Sequence[Sequence[str]]) -> Case:
        requests = [
            f"POST /streams/s?at={time}\n{' '.join(content)}" for (time, _), content in zip(sent, contents, strict=True)
        ]
        return without.case_of(without.PREFIX + query, lateness, requests, schema)

    return (
        case([list(dict.fromkeys(content)) for _, content in sent]),
        case([with_what_follows(content, said) for _, content in sent]),
    )


def check(both: tuple[Case, Case]) -> None:
    asked, written_out = both
    with played(asked, Regime.RDFS) as one:
        wrong = difference(expected_of(written_out), one.told(), ordered=False)
        assert wrong is None, f"{asked.query}\n{wrong}"
        assert one.replayed() == one.told(), asked.query


@settings(without.RELAXED, max_examples=12)
@given(cases())
def test_event_patterns_match_what_follows_from_each_triple_at_its_time(both: tuple[Case, Case]) -> None:
    check(both)


@pytest.mark.long
@settings(without.RELAXED, max_examples=1000)
@given(cases())
def test_many_event_patterns_match_what_follows_from_each_triple_at_its_time(both: tuple[Case, Case]) -> None:
    check(both)


def test_under_owl_rl_event_patterns_are_refused() -> None:
    query = f"{without.PREFIX}SELECT * WHERE {{ STREAM :s {{ ?x :p ?y }} SEQ {{ ?x :q ?y }} }}"
    with (
        pytest.raises(UnsupportedFeature, match="under owl-rl event patterns"),
        played(without.case_of(query, 0, []), Regime.OWL_RL),
    ):
        pass
