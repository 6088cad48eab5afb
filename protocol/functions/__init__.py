"""Functions and aggregates with IRIs that are not SPARQL's own: what there is, and what each means."""
