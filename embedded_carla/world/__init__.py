"""The simulated world: actors, physics, collisions, signals."""
