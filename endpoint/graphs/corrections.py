"""What is known of Oxigraph's readings of a query, and how the processor deals with it; see ``sparql_corrections``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyoxigraph as ox

from endpoint.graphs.syntax_errors import syntax_error
from protocol.errors import ProtocolError, QuerySyntaxError
from protocol.functions import CUSTOM_FUNCTIONS
from protocol.sparql.corrections import corrected, iris_like_operators, with_plain_iris
from protocol.sparql.lexemes import place


def rewritten(text: str, base: str | None, named_graphs: Callable[[], Sequence[str]]) -> str:
    """The query as Oxigraph is to be asked it. ``named_graphs`` gives the IRIs of its dataset's named graphs.

    Raises QuerySyntaxError for a text that only Oxigraph takes for a query, UnsupportedFeature for what cannot be
    rewritten; SyntaxError may come from Oxigraph.
    """
    if iris := iris_like_operators(text):
        _refuse_misreading(text, [lexeme.start for lexeme in iris], with_plain_iris(text, iris), base)
    return corrected(text, named_graphs)


def error_in_original(original: str, asked: str, error: SyntaxError, base: str | None) -> ProtocolError:
    """What is wrong, with its place in the text as it was sent and not as it was rewritten."""
    if asked != original and "service" not in original.casefold():
        try:
            ox.Store().query(original, base_iri=base, custom_functions=CUSTOM_FUNCTIONS)
        except SyntaxError as own:
            return syntax_error(original, own, update=False)
    return syntax_error(original, error, update=False)


def _refuse_misreading(text: str, starts: Sequence[int], plain: str, base: str | None) -> None:
    if "service" in text.casefold():
        return  # reading an ASK evaluates it, and a service is not to be asked for that
    # What is not well-formed anyway is refused for its own fault.
    ox.Store().query(text, base_iri=base, custom_functions=CUSTOM_FUNCTIONS)
    try:
        ox.Store().query(plain, base_iri=base, custom_functions=CUSTOM_FUNCTIONS)
    except SyntaxError:
        line, column = place(text, starts[0])
        raise QuerySyntaxError(
            "from here to the next > is one IRI (the longest match, Query section 19.8): write a space after <",
            line=line,
            column=column,
        ) from None
