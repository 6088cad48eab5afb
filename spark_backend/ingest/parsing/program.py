"""The program of a process that parses, ``python -m spark_backend.ingest.parsing.program``.

Standard input is a socket to the server, over which it is asked (``exchange``). It ends with the server.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

from protocol.processes.bounds import be_first_killed_for_memory, bound_processor_time
from protocol.processes.memory import keep_freed_memory
from spark_backend.ingest.parsing.documents import WrongDocument, parse_documents, parse_frames
from spark_backend.ingest.parsing.exchange import Answered, Asked, divided, encode_quads


def _serve(connection: Connection) -> None:
    while True:
        asked: Asked = connection.recv()
        documents = divided(connection.recv_bytes(), asked.lengths)
        bound_processor_time(asked.seconds)
        try:
            if asked.format is None:
                parsed = parse_frames(documents[0])
            else:
                parsed = parse_documents(documents, asked.format, asked.base)
        except WrongDocument as wrong:
            connection.send(wrong)
            continue
        finally:
            bound_processor_time(0)
        del documents
        connection.send(Answered(parsed.counts, parsed.end))
        connection.send_bytes(encode_quads(parsed.quads))


def main() -> None:
    connection = Connection(os.dup(0))
    be_first_killed_for_memory()
    keep_freed_memory()
    try:
        _serve(connection)
    except (EOFError, ConnectionError):
        sys.exit()  # nobody asks any more


if __name__ == "__main__":
    main()
