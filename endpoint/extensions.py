"""What an application that embeds the endpoint adds to it, in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.middleware import Middleware

from protocol.functions.python_functions import OfValues, PythonFunctions

if TYPE_CHECKING:
    from endpoint.readers.rdflib_functions import RdflibFunctions

Functions = Mapping[str, Callable[..., Any] | OfValues]


@dataclass(frozen=True)
class Extensions:
    """Functions by IRI, read when the endpoint starts; ``rdflib`` gives, then, those that only rdflib can call.

    ``about`` gives what is said of the endpoint in its service description besides, as N-Triples. ``within`` is
    middleware between the endpoint's own and its routes: the endpoint has started when it is called.
    """

    functions: Functions = field(default_factory=dict)
    rdflib: Callable[[], RdflibFunctions | None] = lambda: None
    about: Callable[[], bytes] = lambda: b""
    within: tuple[Middleware, ...] = ()

    def python_functions(self) -> PythonFunctions:
        """The functions that expressions call. Raises ValueError, naming the IRI and what would be right."""
        rdflib = self.rdflib()
        return PythonFunctions.of(self.functions, frozenset() if rdflib is None else rdflib.iris)
