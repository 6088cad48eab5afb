"""Live queries: queries of the store alone that are answered anew when it has changed (docs/http.md, "Live queries").

``question`` makes of a query what is asked (``reading``), and ``answers`` writes documents from the lines that come
back; ``store_query`` is one query with the answers that are held of it, ``kept`` what of it is on the disk, and
``store_queries`` all of them, with the rounds in which they are evaluated. Whoever listens is told by
``endpoint.live.store_subscription``.
"""
