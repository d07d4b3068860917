"""An autonomous-driving stack that runs in CARLA; `av_stack.pipeline` shows how its parts work together."""

__version__ = "0.1.0"
