"""Collisions: boxes, contacts between them, and the impulses of impacts."""
