"""Off-screen renderer: colour, depth and label pictures from one pass."""

from embedded_carla.render.context import RenderError
from embedded_carla.render.picture import Picture, Shot
from embedded_carla.render.renderer import Renderer

__all__ = ["Picture", "RenderError", "Renderer", "Shot"]
