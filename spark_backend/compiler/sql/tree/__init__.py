"""SQL as a tree: expressions, statements over tables, and placeholders for what is known when a plan is evaluated."""
