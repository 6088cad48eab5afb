"""JSON-LD contexts by themselves (JSON-LD 1.1 section 3.1), as streams have them for JSON that says none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyoxigraph

from protocol.formats.json.depth import check_json_depth

Fetch = Callable[[str, str | None], tuple[str, Any]]
"""The document an IRI leads to: where it was found, and its ``@context``.

The IRI is as written, to be resolved against where what has it was found (None: it was sent)."""


def refers(context: object) -> bool:
    """Whether it names other documents by their IRIs."""
    match context:
        case str():
            return True
        case list():
            return any(map(refers, context))
        case dict():
            scoped = [one["@context"] for one in context.values() if isinstance(one, dict) and "@context" in one]
            return "@import" in context or any(map(refers, scoped))
    return False


def inlined(context: object, fetch: Fetch, base: str | None = None) -> Any:
    """The context with documents in place of their IRIs. ``base``: where it was found; None: it was sent."""
    match context:
        case str():
            found, there = fetch(context, base)
            return inlined(there, fetch, found)
        case list():
            contexts: list[Any] = []
            for one in context:
                part = inlined(one, fetch, base)
                contexts += part if isinstance(part, list) else [part]
            return contexts
        case dict():
            members = {name: _with_scoped(value, fetch, base) for name, value in context.items()}
            imported = members.pop("@import", None)
            if isinstance(imported, str):
                found, there = fetch(imported, base)
                if isinstance(there, dict):
                    imported, members = None, {**inlined(there, fetch, found), **members}
            if imported is not None:
                members["@import"] = imported  # which is no context to import, and is said to be wrong
            if base is not None:
                members.pop("@base", None)  # that of a document elsewhere says nothing here (section 4.1.3)
            return members
    return context


def _with_scoped(definition: object, fetch: Fetch, base: str | None) -> object:
    if isinstance(definition, dict) and "@context" in definition:
        return {**definition, "@context": inlined(definition["@context"], fetch, base)}
    return definition


def context_problem(context: str) -> str | None:
    """What is wrong with a context, given as JSON, that refers to nothing; None if it is right."""
    document = f'{{"@context":{context},"@graph":[]}}'.encode()
    try:
        check_json_depth(document)
        list(pyoxigraph.parse(document, pyoxigraph.RdfFormat.JSON_LD, base_iri="http://localhost/"))
    except SyntaxError as error:
        return error.msg
    return None
