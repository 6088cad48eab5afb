"""The grammar of queries, a module a part of it, from text straight to the algebra."""
