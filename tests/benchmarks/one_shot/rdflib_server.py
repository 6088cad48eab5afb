"""rdflib-endpoint as its users run it: FastAPI under uvicorn over an rdflib Dataset, in a process of its own.

Run as a program: ``rdflib_server.py PORT FILE``; the file is N-Triples, for the default graph.
"""

from __future__ import annotations

import sys

import rdflib
import uvicorn
from rdflib_endpoint import SparqlEndpoint


def main(port: int, file: str) -> None:
    dataset = rdflib.Dataset()
    dataset.default_graph.parse(file, format="nt")
    uvicorn.run(SparqlEndpoint(path="/sparql", graph=dataset), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
