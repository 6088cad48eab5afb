"""What processes and threads may take, and whether they go on."""
