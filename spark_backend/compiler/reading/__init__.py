"""From standard SPARQL text to the compiler's algebra, by way of rdflib's parser."""
