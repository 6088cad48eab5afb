"""RDF messages: what a body's Content-Type says of them, and what divides a document into them."""
