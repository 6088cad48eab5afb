"""How a query is evaluated, told to a person."""
