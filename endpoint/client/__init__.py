"""The client's side of the HTTP interface, for the commands and the demonstration."""
