"""Sensor models: each turns the state of the world into the body of CARLA's message."""
