"""Functions of whoever embeds the endpoint, by their IRIs: Python callables of rdflib's terms.

What evaluates is in other processes than the application, so that a function goes there by its module and name, and is
imported where it is called. What it raises is an expression error (SPARQL 1.1 Query section 17.3), and so is
what it gives that is no term; the first such error in a process is told in its log.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pyoxigraph as ox

from protocol.errors import ProtocolError
from protocol.functions.table import CUSTOM_FUNCTIONS, FUNCTIONS
from protocol.terms import XSD

_MAIN = "__main__"
_IMPORTED_MAIN = "__sparql_main__"
"""By this name the script that was started is imported elsewhere, so that it is not run as one."""

_IRIS = ("http://", "https://", "urn:")

logger = logging.getLogger(__name__)


class FunctionsNotLoaded(ProtocolError):
    """The application's functions cannot be imported where queries are evaluated."""

    status = 500
    title = "The functions could not be loaded"


@dataclass(frozen=True)
class OfValues:
    """A function of plain values: of what a literal has (``Literal.toPython``), and of IRIs as text.

    A text it gives that begins as an IRI does is one. So do the functions of rdflib-endpoint's ``DatasetExt``.
    """

    call: Callable[..., Any]


@dataclass(frozen=True)
class Named:
    """Where a function is found again: by name in a module, which for a script that was started is a path."""

    module: str
    name: str

    @classmethod
    def of(cls, function: Callable[..., Any], what: str) -> Named:
        """The place of a function. ValueError, which begins with ``what`` it is, where it has none."""
        module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError(f"{what}: {function!r} has no name in a module: give a function that was made by def")
        if not all(map(str.isidentifier, name.split("."))):
            raise ValueError(
                f"{what}: {name} is a lambda or inside of a function, where no other process finds it: "
                f"define it in the module {module} itself"
            )
        if _attribute(sys.modules.get(module), name) is not function:
            raise ValueError(
                f"{what}: the module {module} has something else by the name {name}, or cannot be imported by its "
                "name: queries are evaluated in other processes, which import the function"
            )
        return cls(_importable(module, what), name)

    def function(self) -> Callable[..., Any]:
        """The function. Raises whatever importing its module does, or AttributeError."""
        found: Callable[..., Any] = _attribute(_imported(self.module), self.name)
        if found is None:
            raise AttributeError(f"the module {self.module} has no {self.name}")
        return found


def extend_path(path: Sequence[str]) -> None:
    """Have modules found where another process finds them, after where they are found here."""
    sys.path += [entry for entry in path if entry not in sys.path]


def search_path() -> tuple[str, ...]:
    """Where this process finds modules."""
    return tuple(os.path.abspath(entry) for entry in sys.path)


@dataclass(frozen=True)
class PythonFunctions:
    """Functions by IRI, with whether each is one of plain values; ``path`` is where their modules are found.

    ``one_shot_only`` are IRIs that mean something in one-shot queries alone.
    """

    functions: Mapping[str, tuple[Named, bool]] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    one_shot_only: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, functions: Mapping[str, Callable[..., Any] | OfValues], one_shot_only: frozenset[str] = frozenset()
    ) -> PythonFunctions:
        """Raises ValueError, naming the IRI and what would be right."""
        named: dict[str, tuple[Named, bool]] = {}
        for iri, function in functions.items():
            iri, what = str(iri), f"functions: <{iri}>"
            _check_iri(iri, what)
            values = isinstance(function, OfValues)
            call = function.call if isinstance(function, OfValues) else function
            if not callable(call):
                raise ValueError(f"{what}: {call!r} cannot be called")
            named[iri] = (Named.of(call, what), values)
        return cls(named, search_path() if named else (), one_shot_only)

    def __contains__(self, iri: str) -> bool:
        return iri in self.functions

    def to_json(self) -> str:
        """What other processes are told; "" where there are none."""
        if not self.functions:
            return ""
        named = {iri: [one.module, one.name, values] for iri, (one, values) in self.functions.items()}
        return json.dumps({"path": self.path, "functions": named})


NO_FUNCTIONS = PythonFunctions()


@lru_cache(maxsize=16)
def callables(text: str) -> dict[ox.NamedNode, Callable[..., Any]]:
    """The functions of ``PythonFunctions.to_json``, and all others there are, as Oxigraph takes them.

    Only for processes of the endpoint's own: imports their modules, and has rdflib keep literals that they make as they
    are written. Raises FunctionsNotLoaded.
    """
    if not text:
        return CUSTOM_FUNCTIONS
    import rdflib  # most endpoints have no functions, and their evaluators need not load it

    rdflib.NORMALIZE_LITERALS = False
    document = json.loads(text)
    extend_path(document["path"])
    found: dict[ox.NamedNode, Callable[..., Any]] = {**CUSTOM_FUNCTIONS}
    for iri, (module, name, values) in document["functions"].items():
        try:
            function = Named(module, name).function()
        except Exception as error:
            raise FunctionsNotLoaded(
                f"the function <{iri}>, {name} of {module}, cannot be imported where queries are evaluated: "
                f"{type(error).__name__}: {error}"
            ) from error
        found[ox.NamedNode(iri)] = _of_terms(iri, function, values=bool(values))
    return found


def rdflib_term(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Any:
    """One of Oxigraph's terms as rdflib's: a literal stays as written, a string has no datatype, as in rdflib."""
    from oxrdflib._converter import from_ox
    from rdflib import Literal, URIRef

    if isinstance(term, ox.Literal):
        plain = term.language or term.datatype.value == f"{XSD}string"
        datatype = None if plain else URIRef(term.datatype.value)
        return Literal(term.value, lang=term.language, datatype=datatype, normalize=False)
    return from_ox(term)


def value_of(term: Any) -> Any:
    """The plain value of one of rdflib's terms, as functions of plain values are given it."""
    from rdflib import Literal, URIRef

    if isinstance(term, Literal):
        return term.toPython()
    return str(term) if isinstance(term, URIRef) else term


def _of_terms(iri: str, function: Callable[..., Any], *, values: bool) -> Callable[..., Any]:
    from oxrdflib._converter import to_ox

    told = False

    def call(*terms: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Any:
        nonlocal told
        try:
            given = [rdflib_term(term) for term in terms]
            result = function(*map(value_of, given)) if values else function(*given)
            return None if result is None else to_ox(_term(result, values))
        except Exception as error:
            if not told:
                told = True
                logger.warning("the function <%s> failed, which is an expression error: %r", iri, error)
            raise

    return call


def _term(result: Any, texts_may_be_iris: bool) -> Any:
    """What a function gave, as a term of rdflib's. Raises TypeError."""
    from rdflib import BNode, Literal, URIRef

    if isinstance(result, URIRef | BNode | Literal):
        return result
    if texts_may_be_iris and isinstance(result, str) and result.startswith(_IRIS):
        return URIRef(result)
    literal = Literal(result)
    if literal.datatype is None and not isinstance(result, str):
        raise TypeError(f"it gave a {type(result).__name__}, which is no term, nor the value of one")
    return literal


def _check_iri(iri: str, what: str) -> None:
    try:
        ox.NamedNode(iri)
    except ValueError as error:
        raise ValueError(f"{what} is no absolute IRI: {error}") from None
    if iri in FUNCTIONS or iri.startswith(XSD):
        raise ValueError(f"{what} has its meaning already: give the function another IRI")


def _attribute(module: ModuleType | None, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _importable(module: str, what: str) -> str:
    """The name or path by which another process imports a module."""
    if module != _MAIN:
        return module
    main = sys.modules[_MAIN]
    spec = getattr(main, "__spec__", None)
    if spec is not None:  # python -m
        return str(spec.name)
    file = inspect.getsourcefile(main) if getattr(main, "__file__", None) else None
    if file is None:
        raise ValueError(f"{what}: it is defined at a prompt, where no other process finds it: write it to a file")
    return str(Path(file).absolute())


def _imported(module: str) -> ModuleType:
    if not os.path.isabs(module):
        return importlib.import_module(module)
    if _IMPORTED_MAIN not in sys.modules:
        spec = importlib.util.spec_from_file_location(_IMPORTED_MAIN, module)
        if spec is None or spec.loader is None:
            raise ImportError(f"{module} is no file of Python")
        made = importlib.util.module_from_spec(spec)
        sys.modules[_IMPORTED_MAIN] = made
        try:
            spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[_IMPORTED_MAIN]
            raise
    return sys.modules[_IMPORTED_MAIN]
