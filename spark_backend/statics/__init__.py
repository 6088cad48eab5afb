"""What the store has for continuous queries: the matches of their static patterns, as tables that the tasks read."""
