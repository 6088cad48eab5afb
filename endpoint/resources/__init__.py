"""The resources of the HTTP interface, a module each; ``requests`` has what several of them read of a request."""
