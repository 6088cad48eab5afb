"""Answers: from rows to solutions, through R2S, to documents."""
