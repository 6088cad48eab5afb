"""RSP-QL: an oracle of the model, cases as manifests, and what runs them against an endpoint."""
