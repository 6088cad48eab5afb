"""The resources of the HTTP interface, a module each, and what their requests and answers are made of."""
