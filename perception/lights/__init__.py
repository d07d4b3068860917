"""Traffic lights: lit lamps, detected heads and the map's posts give the state of each signal."""
