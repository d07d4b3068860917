"""Road users around the ego."""
