"""The query language: SPARQL 1.1 with stream clauses (docs/language.md)."""

from protocol.language.model import (
    R2S,
    ContinuousQuery,
    Form,
    OneShotQuery,
    Registration,
)
from protocol.language.parser import parse, perhaps_continuous

__all__ = ["R2S", "ContinuousQuery", "Form", "OneShotQuery", "Registration", "parse", "perhaps_continuous"]
