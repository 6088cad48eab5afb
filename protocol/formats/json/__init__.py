"""JSON and JSON-LD as requests send them, and as answers are written in it."""
