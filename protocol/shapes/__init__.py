"""SHACL Core (W3C Recommendation of 20 July 2017): a shapes graph is compiled once and validates many small graphs.

``reading`` makes ``Shape`` (``shape``) of a shapes graph, with ``paths`` and ``components``; ``shapes_graph`` finds
focus nodes and validates; ``report`` tells the results. Terms are canonical N-Triples (``protocol.terms``).
"""
