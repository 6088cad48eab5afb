"""rdflib-endpoint's ``DatasetExt``, which remembers what its decorators were given: other processes call it."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Generator, Iterator
from typing import Any

import rdflib_endpoint
from rdflib import Namespace
from rdflib_endpoint.dataset_ext import DEFAULT_NAMESPACE

from endpoint.readers.rdflib_functions import Decorated
from protocol.functions.python_functions import Named, OfValues

Function = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class _Given:
    decorator: str
    namespace: str
    use_subject: bool
    iri: str
    function: Function


class DatasetExt(rdflib_endpoint.DatasetExt):
    """A dataset with decorators for functions, which queries call by IRI.

    An ``extension_function`` that gives one value is a function of SPARQL's expressions; ``expressions`` has these by
    IRI. What gives rows, by its annotation (a list, an iterator, a dataclass), and what the other decorators were given
    is called by rdflib, in one-shot queries.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expressions: dict[str, OfValues] = {}
        self._given: list[_Given] = []

    def decorated(self) -> tuple[Decorated, ...]:
        """The functions that rdflib calls. ValueError names one that no other process finds."""
        return tuple(
            Decorated(one.decorator, one.namespace, one.use_subject, one.iri, Named.of(one.function, f"<{one.iri}>"))
            for one in self._given
        )

    def type_function(self, namespace: Namespace = DEFAULT_NAMESPACE, use_subject: bool = False) -> Function:
        """As rdflib-endpoint's."""
        return self._noting("type_function", super().type_function(namespace, use_subject), namespace, use_subject)

    def predicate_function(self, namespace: Namespace = DEFAULT_NAMESPACE) -> Function:
        """As rdflib-endpoint's."""
        return self._noting("predicate_function", super().predicate_function(namespace), namespace)

    def extension_function(self, namespace: Namespace = DEFAULT_NAMESPACE) -> Function:
        """As rdflib-endpoint's; a function that gives one value may also be called wherever an expression may be."""
        return self._noting("extension_function", super().extension_function(namespace), namespace)

    def graph_function(self, namespace: Namespace = DEFAULT_NAMESPACE) -> Function:
        """As rdflib-endpoint's."""
        return self._noting("graph_function", super().graph_function(namespace), namespace)

    def _noting(
        self, decorator: str, register: Function, namespace: Namespace, use_subject: bool = False
    ) -> Callable[[Function], Function]:
        def note(function: Function) -> Function:
            registered: Function = register(function)
            iri = str(self._custom_functions[function.__name__].iri)
            if decorator == "extension_function" and not _gives_rows(function):
                self.expressions[iri] = OfValues(function)
            else:
                self._given.append(_Given(decorator, str(namespace), use_subject, iri, function))
            return registered

        return note


def _gives_rows(function: Function) -> bool:
    if inspect.isgeneratorfunction(function):
        return True
    try:
        given = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):  # names that are known to type checkers only
        given = inspect.signature(function).return_annotation
    return _are_rows(given)


def _are_rows(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.lower().startswith(("list", "typing.list", "iterator", "generator"))
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(map(_are_rows, typing.get_args(annotation)))
    kind = annotation if origin is None else origin
    return kind in (list, Iterator, Generator) or (isinstance(kind, type) and dataclasses.is_dataclass(kind))
