"""What a scenario's script orders, carried out on a CARLA server: actors, traffic lights, background traffic."""
