"""Lane detection from the front camera: paint, line fits, tracks, and the lines of the ego lane and its neighbours."""
