"""Tests of SPARQL 1.1 Service Description. The manifest has their names only; what they ask is the standard's text."""

from __future__ import annotations

from collections.abc import Callable

import pyoxigraph as ox

from conformance.answers.comparison import GraphAnswer
from conformance.answers.results import UnreadableAnswer, graph
from conformance.engines.engine import EngineFailure
from conformance.engines.http import HttpEngine
from conformance.handlers.exchanges import Mismatch
from conformance.manifest import ManifestError, Test
from conformance.outcome import Outcome, Verdict
from conformance.vocabulary import RDF_TYPE, SD

NAMED_GRAPH = "urn:x-sparql-streams:conformance:described"

# Section 3: domain and range of each property; None: any resource. A literal is in the range of none of them.
_PROPERTIES: dict[str, tuple[str | None, str | None]] = {
    "endpoint": ("Service", None),
    "feature": ("Service", "Feature"),
    "defaultEntailmentRegime": ("Service", "EntailmentRegime"),
    "entailmentRegime": ("NamedGraph", "EntailmentRegime"),
    "defaultSupportedEntailmentProfile": ("Service", "EntailmentProfile"),
    "supportedEntailmentProfile": ("NamedGraph", "EntailmentProfile"),
    "extensionFunction": ("Service", "Function"),
    "extensionAggregate": ("Service", "Aggregate"),
    "languageExtension": ("Service", "Feature"),
    "supportedLanguage": ("Service", "Language"),
    "propertyFeature": ("Service", "Feature"),
    "defaultDataset": ("Service", "Dataset"),
    "availableGraphs": ("Service", "GraphCollection"),
    "resultFormat": ("Service", None),
    "inputFormat": ("Service", None),
    "defaultGraph": ("Dataset", "Graph"),
    "namedGraph": ("GraphCollection", "NamedGraph"),
    "name": ("NamedGraph", None),
    "graph": ("NamedGraph", "Graph"),
}
_CLASSES = frozenset({
    "Service", "Feature", "Language", "Function", "Aggregate", "EntailmentRegime", "EntailmentProfile",
    "GraphCollection", "Dataset", "Graph", "NamedGraph",
})  # fmt: skip
_SUPERCLASSES = {"Dataset": {"Dataset", "GraphCollection"}}  # sections 3.2.9
_INSTANCES = {
    "Language": {"SPARQL10Query", "SPARQL11Query", "SPARQL11Update"},
    "Feature": {
        "DereferencesURIs", "UnionDefaultGraph", "RequiresDataset", "EmptyGraphs", "BasicFederatedQuery",
    },
}  # fmt: skip
_AT_MOST_ONE = ("defaultDataset", "defaultEntailmentRegime", "defaultSupportedEntailmentProfile")


def service_description_test(test: Test, engine: HttpEngine) -> Outcome:
    """``mf:ServiceDescriptionTest``, by the test's own name."""
    name = test.iri.rpartition("#")[2]
    if name not in _TESTS:
        raise ManifestError(f"{test.description.place}: {test.node} is no service description test that is known here")
    try:
        _TESTS[name](engine)
    except (Mismatch, EngineFailure, UnreadableAnswer, OSError) as error:
        return Outcome(test, Verdict.FAILED, str(error))
    return Outcome(test, Verdict.STRICT)


def description(engine: HttpEngine, accept: str | None = None) -> GraphAnswer:
    """What a GET of the endpoint without a query answers (section 2)."""
    headers = [] if accept is None else [("Accept", accept)]
    response = engine.endpoint.exchange("GET", engine.endpoint.path("/sparql"), headers)
    if response.status != 200:
        raise Mismatch(f"a GET of the endpoint answers {response.status}")
    return graph(response.body, response.media_type, engine.endpoint.sparql)


def _returns_rdf(engine: HttpEngine) -> None:
    for accept in (None, "*/*", "text/turtle", "application/rdf+xml"):
        if not description(engine, accept).triples:
            raise Mismatch(f"with Accept: {accept} the description is empty")


def _has_endpoint_triple(engine: HttpEngine) -> None:
    found = [one.object for one in description(engine).triples if one.predicate == SD["endpoint"]]
    if ox.NamedNode(engine.endpoint.sparql) not in found:
        shown = ", ".join(str(one) for one in found)
        raise Mismatch(f"the description has no sd:endpoint <{engine.endpoint.sparql}>, but {shown or 'none'}")


def _conforms_to_schema(engine: HttpEngine) -> None:
    """Section 3: only terms that there are, used between what they relate; and true: the graphs are the store's."""
    engine.empty()
    engine.load_turtle(NAMED_GRAPH, b"<urn:s> <urn:p> 1 .")
    triples = description(engine).triples
    problems = list(dict.fromkeys(schema_problems(triples)))
    names = {one.object for one in triples if one.predicate == SD["name"]}
    if names != {ox.NamedNode(NAMED_GRAPH)}:
        problems.append(f"the named graphs are said to be {sorted(map(str, names))}, not just <{NAMED_GRAPH}>")
    if problems:
        raise Mismatch("; ".join(problems))


def schema_problems(triples: frozenset[ox.Triple]) -> list[str]:
    """What in a description is not as the vocabulary's classes, domains and ranges have it."""
    types: dict[object, set[str]] = {}
    for one in triples:
        if one.predicate == RDF_TYPE and isinstance(one.object, ox.NamedNode):
            types.setdefault(one.subject, set()).add(one.object.value)
    problems: list[str] = []
    services = [node for node, kinds in types.items() if SD["Service"].value in kinds]
    if not services:
        problems.append("there is no sd:Service")
    for kinds in types.values():
        problems += [
            f"there is no class <{kind}>"
            for kind in kinds
            if kind.startswith(SD.iri) and kind.removeprefix(SD.iri) not in _CLASSES
        ]
    counts: dict[tuple[object, str], int] = {}
    for one in triples:
        if not one.predicate.value.startswith(SD.iri):
            continue
        name = one.predicate.value.removeprefix(SD.iri)
        if name not in _PROPERTIES:
            problems.append(f"there is no property sd:{name}")
            continue
        counts[one.subject, name] = counts.get((one.subject, name), 0) + 1
        domain, range_ = _PROPERTIES[name]
        if isinstance(one.object, ox.Literal):
            problems.append(f"sd:{name} has the literal {one.object}")
        if name in ("endpoint", "name") and not isinstance(one.object, ox.NamedNode):
            problems.append(f"sd:{name} has {one.object}, which is no IRI")
        if domain is not None and not _is_a(types.get(one.subject, set()), domain):
            problems.append(f"sd:{name} is said of {one.subject}, which is not said to be a sd:{domain}")
        if range_ is not None and not _in_range(one.object, types.get(one.object, set()), range_):
            problems.append(f"sd:{name} has {one.object}, which is not said to be a sd:{range_}")
    for service in services:
        if not counts.get((service, "endpoint")):
            problems.append(f"the service {service} has no sd:endpoint")
    problems += [
        f"{node} has {n} values of sd:{name}" for (node, name), n in counts.items() if n > 1 and name in _AT_MOST_ONE
    ]
    return problems


def _is_a(kinds: set[str], wanted: str) -> bool:
    return any(wanted in _SUPERCLASSES.get(name, {name}) for name in (kind.removeprefix(SD.iri) for kind in kinds))


def _in_range(node: object, kinds: set[str], wanted: str) -> bool:
    """Known instances need no type; others have to be said to be one, so that a reader without inference sees it."""
    known = isinstance(node, ox.NamedNode) and node.value.removeprefix(SD.iri) in _INSTANCES.get(wanted, set())
    return known or _is_a(kinds, wanted)


_TESTS: dict[str, Callable[[HttpEngine], None]] = {
    "returns-rdf": _returns_rdf,
    "has-endpoint-triple": _has_endpoint_triple,
    "conforms-to-schema": _conforms_to_schema,
}
