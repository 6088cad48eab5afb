"""What requests to several resources say: what they accept, parameters, bodies."""
