"""What other endpoints gave for SERVICE, kept with the evaluations that it was given for."""
