"""The commands that take a recorded drive: replay, and explain."""
