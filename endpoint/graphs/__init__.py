"""The endpoint's own graphs: an rdflib Dataset over Oxigraph, and the one door for what is asked of it."""
