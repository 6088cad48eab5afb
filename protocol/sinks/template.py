"""Lines of text for people, made of solutions: ``{room} is {degrees} °C``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PART = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]*)\}|[{}]")
_NAME = re.compile(r"[?$]?(?P<name>\w+)\Z")
_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


@dataclass(frozen=True)
class Template:
    """A text in which ``{variable}`` stands for the variable's value; ``{{`` and ``}}`` are braces.

    ``literals`` has one text more than there are ``variables``: they alternate.
    """

    literals: tuple[str, ...]
    variables: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Template:
        """Read a template. ValueError says what is wrong with it, and at which character."""
        if _BREAKS.search(text):
            raise ValueError("has a line break, and every solution is a line")
        literals, variables, end = [""], [], 0
        for part in _PART.finditer(text):
            literals[-1] += text[end : part.start()]
            end = part.end()
            if part[0] in ("{{", "}}"):
                literals[-1] += part[0][0]
                continue
            name = None if part["name"] is None else _NAME.match(part["name"])
            if name is None:
                raise ValueError(
                    f"has {part[0]!r} at character {part.start() + 1}: write {{variable}} for the value of a variable, "
                    "{{ and }} for braces"
                )
            variables.append(name["name"])
            literals.append("")
        literals[-1] += text[end:]
        return cls(tuple(literals), tuple(variables))

    def line(self, values: Mapping[str, str]) -> str:
        """The line of one solution, with its end; what is not bound is empty, and line breaks become spaces."""
        parts = [self.literals[0]]
        for name, literal in zip(self.variables, self.literals[1:], strict=True):
            parts += (_BREAKS.sub(" ", values.get(name, "")), literal)
        return "".join(parts) + "\n"
