"""Universities in the proportions of the Lehigh University Benchmark: ontology, generator and the fourteen queries."""
