"""What a query is, whoever wrote it and before it is compiled: its algebra, and the model of a continuous query."""
