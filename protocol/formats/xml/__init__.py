"""XML: what is read is checked, and what is written is text that XML has characters for."""
