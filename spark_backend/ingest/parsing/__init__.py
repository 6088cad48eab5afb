"""Documents in any format become canonical statements.

``documents`` does it, in this process; ``parsers`` has processes do it for long documents (``program`` is theirs),
which ``pieces`` cuts so that several parse one at once.
"""
