"""Local planning: where on the road the ego drives in the next seconds."""
