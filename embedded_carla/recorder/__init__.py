"""Recordings in CARLA's own binary format: written while the world runs, played back into it, reported on."""
