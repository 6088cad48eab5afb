"""SPARQL texts and requests before anything evaluates them: what they ask for, and what they may make the server do."""
