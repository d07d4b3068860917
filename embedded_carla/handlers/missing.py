"""CARLA's methods that this server does not have: each answers with its name, so that nobody waits or guesses."""

from __future__ import annotations

from embedded_carla.handlers.registry import unsupported

_ANSWERING_A_VALUE = ("get_gbuffer_token",)
_ANSWERING_NOTHING = (
    "enable_carsim",
    "use_carsim_road",
    "enable_chrono_physics",
    "restore_physx_physics",
    "enable_gbuffers",
    "apply_color_texture_to_objects",
    "apply_float_color_texture_to_objects",
)

for _name in _ANSWERING_A_VALUE:
    unsupported(_name, is_void=False)
for _name in _ANSWERING_NOTHING:
    unsupported(_name, is_void=True)
