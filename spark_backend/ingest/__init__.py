"""Request bodies become columns of timestamped elements (docs/http.md, "Appending").

The way of a body, one module a step: ``bodies`` and ``marked_bodies`` have it validated and its statements written
canonically (``parsing``; ``canonical_lines``: long bodies that are written so already), ``quads`` splits these into
columns of terms, ``facets`` adds the values of objects, ``timestamps`` and ``timestamped_graphs`` find the
elements' times, ``message_names`` names blank nodes by their message and its time (``blank_nodes`` scopes them to the
request where the log gives the time), ``columns`` puts the record batch together.
"""
