"""CARLA methods that this server does not support: each answers with an error that says why."""

from __future__ import annotations

from embedded_carla.handlers.registry import unsupported

_TEXTURES = "textures on objects: surfaces are drawn by formulas here, there is no texture to replace"
_GBUFFERS = "GBuffers: they are Unreal's intermediate pictures, and this renderer has others"
_ANSWERING_A_VALUE = {"get_gbuffer_token": _GBUFFERS}
_ANSWERING_NOTHING = {
    "enable_carsim": "CarSim: it is a product of its own that is not part of this server",
    "use_carsim_road": "CarSim: it is a product of its own that is not part of this server",
    "enable_chrono_physics": "Chrono: vehicles have this server's own physics only",
    "enable_gbuffers": _GBUFFERS,
    "apply_color_texture_to_objects": _TEXTURES,
    "apply_float_color_texture_to_objects": _TEXTURES,
}

for _method, _what in _ANSWERING_A_VALUE.items():
    unsupported(_method, _what, is_void=False)
for _method, _what in _ANSWERING_NOTHING.items():
    unsupported(_method, _what, is_void=True)
