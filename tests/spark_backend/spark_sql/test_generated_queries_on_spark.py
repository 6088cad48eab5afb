"""Generated queries over generated windows and graphs: DuckDB and Spark SQL agree to the letter."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from protocol.errors import QuerySyntaxError, UnsupportedFeature
from tests.spark_backend.compiler.generated.queries import contents, queries
from tests.spark_backend.compiler.generated.triple_terms import graphs as graphs_with_triple_terms
from tests.spark_backend.compiler.generated.triple_terms import queries as queries_of_triple_terms
from tests.spark_backend.compiler.one_shot import Content
from tests.spark_backend.spark_sql.both_sites import BothSites

pytestmark = pytest.mark.spark
CHECKS = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture,
]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: each try is a Spark job or several."""


def agree(sites: BothSites, text: str, content: Content) -> None:
    try:
        sites.agree(text, content)
    except (QuerySyntaxError, UnsupportedFeature):  # BIND of a variable already in scope, and the like
        assume(False)


@settings(max_examples=2, deadline=None, phases=PHASES, suppress_health_check=CHECKS)
@given(text=queries, content=contents)
def test_a_generated_query_gives_on_spark_what_it_gives_in_duckdb(
    sites: BothSites, text: str, content: Content
) -> None:
    agree(sites, text, content)


@pytest.mark.long
@settings(max_examples=300, deadline=None, phases=PHASES, suppress_health_check=CHECKS)
@given(text=queries, content=contents)
def test_many_generated_queries_give_on_spark_what_they_give_in_duckdb(
    sites_as_served: BothSites, text: str, content: Content
) -> None:
    agree(sites_as_served, text, content)


@settings(max_examples=2, deadline=None, phases=PHASES, suppress_health_check=CHECKS)
@given(text=queries_of_triple_terms, window=graphs_with_triple_terms, store=graphs_with_triple_terms)
def test_a_generated_query_of_triple_terms_gives_on_spark_what_it_gives_in_duckdb(
    sites: BothSites, text: str, window: str, store: str
) -> None:
    agree(sites, text, Content({None: window}, {None: store}))


@pytest.mark.long
@settings(max_examples=100, deadline=None, phases=PHASES, suppress_health_check=CHECKS)
@given(text=queries_of_triple_terms, window=graphs_with_triple_terms, store=graphs_with_triple_terms)
def test_many_generated_queries_of_triple_terms_give_on_spark_what_they_give_in_duckdb(
    sites_as_served: BothSites, text: str, window: str, store: str
) -> None:
    agree(sites_as_served, text, Content({None: window}, {None: store}))
