"""Who concerns the ego's path in one step, and the paths that it could take."""
