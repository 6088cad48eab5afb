"""Graph patterns as SQL, an operator a module (SPARQL 1.1 Query section 18)."""
