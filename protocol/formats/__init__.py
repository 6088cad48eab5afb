"""Formats of answers and of RDF: ``media_types`` has a row for each, and everything else asks there.

``negotiation`` chooses one; ``answers``, ``csv_solutions``, ``sse``, ``json`` and ``xml`` write and read those of
answers, ``solution_rows`` for who wants terms. ``rdf_documents`` reads RDF, after ``document_checks``,
``long_tokens``, ``triple_term_depth`` and ``version_lines`` have seen to what Oxigraph's parsers do not bear.
"""
