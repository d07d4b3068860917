"""CARLA's wire: transport, sockets, streams, and the conversion of values."""
