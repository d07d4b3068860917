"""When the ego enters a junction: only if it can leave it again."""
