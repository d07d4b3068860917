"""The transport to CARLA: the one folder of the stack that imports carla, and the one that knows CARLA's frame."""
