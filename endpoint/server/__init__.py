"""The server process: its sockets, its start, and an end with nothing left running."""
