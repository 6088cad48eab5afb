"""The program of a process that parses, ``python -m spark_backend.ingest.parsing.program``.

Standard input is a socket to the server, over which it is asked (``exchange``). It ends with the server.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

from protocol.child_bounds import be_first_killed_for_memory
from spark_backend.ingest.parsing.documents import WrongDocument, canonical_documents
from spark_backend.ingest.parsing.exchange import Asked, Parsed, divided


def _serve(connection: Connection) -> None:
    while True:
        asked: Asked = connection.recv()
        documents = divided(connection.recv_bytes(), asked.lengths)
        try:
            parsed = canonical_documents(documents, asked.format, asked.base)
        except WrongDocument as wrong:
            connection.send(wrong)
            continue
        del documents
        texts = [text for text, _ in parsed]
        connection.send(Parsed([len(text) for text in texts], parsed[-1][1]))
        connection.send_bytes(texts[0] if len(texts) == 1 else b"".join(texts))


def main() -> None:
    connection = Connection(os.dup(0))
    be_first_killed_for_memory()
    try:
        _serve(connection)
    except (EOFError, ConnectionError):
        sys.exit()  # nobody asks any more


if __name__ == "__main__":
    main()
