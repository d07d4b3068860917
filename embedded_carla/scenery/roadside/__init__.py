"""What stands beside the roads: buildings, vegetation, furniture, and the room for them."""
