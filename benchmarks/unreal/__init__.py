"""Fine-tunes detectors on pictures of CARLA's own renderer, and measures them there."""
