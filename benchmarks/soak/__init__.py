"""Soak tests against a real server process through the real wheel; each can be stopped and resumed."""
