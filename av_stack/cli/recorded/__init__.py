"""The commands on recorded drives: replay and explain."""
