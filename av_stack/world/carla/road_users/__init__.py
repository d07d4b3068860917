"""The traffic and the people that the world itself spawns."""
