"""Messages: their parts, times and blank nodes (docs/model.md, "Elements and streams")."""
