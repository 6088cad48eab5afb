from __future__ import annotations

import pytest

from protocol.entailment.regimes import Regime, UnknownRegime, parse_regime, read_regime


def test_regimes_are_read_by_their_names() -> None:
    assert [parse_regime(one, "entailment") for one in ("none", "rdfs", "owl-rl")] == list(Regime)
    assert read_regime([]) is None
    assert read_regime([""]) is None
    assert read_regime(["rdfs"]) is Regime.RDFS


@pytest.mark.parametrize("value", ["RDFS", "owl", "", None, 3])
def test_what_is_none_is_told_with_those_there_are(value: object) -> None:
    with pytest.raises(UnknownRegime, match=r"entailment: .* is no entailment regime: write none, rdfs, owl-rl"):
        parse_regime(value, "entailment")


def test_two_are_too_many() -> None:
    with pytest.raises(UnknownRegime, match="given 2 times"):
        read_regime(["rdfs", "none"])


def test_they_have_the_names_that_service_descriptions_use() -> None:
    assert Regime.RDFS.iri == "http://www.w3.org/ns/entailment/RDFS"
    assert (Regime.OWL_RL.iri, Regime.OWL_RL.profile) == (
        "http://www.w3.org/ns/entailment/OWL-RDF-Based",
        "http://www.w3.org/ns/owl-profile/RL",
    )
