"""Drawing passes: ground, solids, shadows, mirror images, sprites, rain and the finish."""
