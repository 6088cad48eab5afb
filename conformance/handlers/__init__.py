"""What each type of test asks for: a handler by the type's IRI."""

from __future__ import annotations

from conformance.handlers.handler import HTTP_TESTS, Handler, handler_of

__all__ = ["HTTP_TESTS", "Handler", "handler_of"]
