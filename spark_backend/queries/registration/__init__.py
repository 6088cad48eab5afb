"""How queries come and go, and what is written down of them: at registration, and when the store has changed."""
