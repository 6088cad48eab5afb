"""What processes and threads may take, whether they go on, and what is left of them."""
