"""What holds for each request to another server: for how long it may take, and what is trusted of that server."""
