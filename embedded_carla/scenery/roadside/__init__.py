"""Objects beside the roads: buildings, vegetation and furniture, and the free room for them."""
