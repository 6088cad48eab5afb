"""What takes a standing query's answers elsewhere: settings of a sink, and answers as what it sends (docs/sinks.md)."""
