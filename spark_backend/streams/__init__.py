"""The streams of an endpoint: which there are, how far they are, what is known of them."""
