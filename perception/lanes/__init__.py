"""Lane lines of the ego lane, from the front camera."""
