"""Culling: which instances and tiles a view shows, as compiled loops."""
