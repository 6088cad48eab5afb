"""The queries that run: from registration to the last listener, and what is told of them."""
