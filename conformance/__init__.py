"""Runs manifests of conformance tests (W3C's ``mf:`` vocabulary) against an endpoint and reports what holds.

``manifest`` reads the manifests, ``cases`` what a test is made of, ``comparison`` decides whether two
answers are the same, ``engine`` is what is tested (``http_engine``: an endpoint, through HTTP and its
serialisers; ``baseline``: Oxigraph called in process), ``handlers`` do what a type of test asks for,
``known`` holds the failures that are accounted for, ``run`` puts them together.
"""
