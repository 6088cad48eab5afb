"""What an append goes through: requests told apart from those that were there before, and groups of them as frames."""
