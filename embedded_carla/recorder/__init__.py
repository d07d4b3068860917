"""Recordings in CARLA's own binary format: recording, replay and text reports."""
