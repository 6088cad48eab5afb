"""Continuous queries for whoever listens, from the backend's notices to bytes; each of these knows those before it.

``turns`` have all who wait go on. A ``channel`` holds the last events of a query for all its listeners, ``replay``
computes what is past again; a ``subscription`` is one listener's way through both, ``store_subscription`` one through
the answers of a live query of the store. ``all_queries`` knows which is which. The ``hub`` has the channels, and is
told by ``server_stop`` when to let go of all. ``registration`` is for standing queries, ``unregistered_queries`` for
those that run while somebody listens. ``event_stream`` is the response, for as many as ``listeners`` lets in;
``result_stream`` puts a subscription into it.
"""
