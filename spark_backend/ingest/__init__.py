"""Request bodies become columns of timestamped elements (contract section 4, "Bodies").

The way of a body, one module a step: ``bodies`` and ``markers`` validate it and write its statements
canonically (``canonical_lines``: long bodies that are written so already), ``quads`` splits these into
columns of terms, ``blank_nodes`` scopes labels to their message, ``facets`` adds the values of objects,
``timestamps`` and ``timestamped_graphs`` find the elements' times, ``columns`` puts the record batch
together.
"""
