"""Which streams the windows of a query are about, by their IRIs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from protocol.errors import QuerySemanticError
from protocol.sparql.iris import resolve
from protocol.streams import main_stream
from protocol.windows.spec import ONLY_STREAM, StreamWindow


def bound_windows(
    windows: tuple[StreamWindow, ...], names: Mapping[str, str], root: str, log_of: Callable[[str], str]
) -> tuple[StreamWindow, ...]:
    """The windows with the directories of their streams' logs (``log_of`` a name) in place of the streams' IRIs.

    ``names``: of streams, by their IRIs. A relative IRI that names no stream where the query's base has put it is a
    name below ``root``. Raises QuerySemanticError for an unknown stream, with the place of the window.
    """
    bound = []
    for member in with_found_streams(windows, names, root):
        name = names.get(member.stream)
        if name is None:
            known = ", ".join(sorted(f"<{iri}>" for iri, one in names.items() if one == main_stream(one))) or "none yet"
            raise QuerySemanticError(
                f"there is no stream <{member.stream}>: create it first (PUT /streams/NAME). Streams: {known}",
                line=member.line,
                column=member.column,
            )
        bound.append(replace(member, stream=log_of(name)))
    return tuple(bound)


def with_found_streams(
    windows: tuple[StreamWindow, ...], names: Mapping[str, str], root: str
) -> tuple[StreamWindow, ...]:
    """The windows, those whose stream is found below ``root`` with the IRI that it is found under there.

    A query keeps these: read again, a relative IRI could mean a stream that was made since.
    """
    return tuple(
        replace(one, stream=below)
        if one.stream not in names and one.reference is not None and (below := resolve(root, one.reference)) in names
        else one
        for one in windows
    )


def with_only_stream(windows: tuple[StreamWindow, ...], iris: Iterable[str]) -> tuple[StreamWindow, ...]:
    """The windows, those of the only stream with its IRI, which is the one of ``iris``.

    Raises QuerySemanticError, with the place of the window, where there is none, or more than one.
    """
    if all(member.stream != ONLY_STREAM for member in windows):
        return windows
    known = sorted(iris)
    if len(known) != 1:
        names = ", ".join(f"<{iri}>" for iri in known) or "none yet"
        unnamed = next(member for member in windows if member.stream == ONLY_STREAM)
        raise QuerySemanticError(
            "what names no stream is about the endpoint's only one: write STREAM <…> before an event pattern, "
            f"FROM STREAM <…> in a definition of facts. Streams: {names}",
            line=unnamed.line,
            column=unnamed.column,
        )
    return tuple(replace(one, stream=known[0]) if one.stream == ONLY_STREAM else one for one in windows)
