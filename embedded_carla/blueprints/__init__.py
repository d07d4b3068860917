"""The blueprint library: all actors that a client may spawn, under CARLA's names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from embedded_carla.blueprints.props import prop_blueprints
from embedded_carla.blueprints.sensors import sensor_blueprints
from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.blueprints.walkers import walker_blueprints
from embedded_carla.types import Blueprint

LIBRARY: Mapping[str, Blueprint] = MappingProxyType(
    {
        blueprint.type_id: blueprint
        for group in (vehicle_blueprints(), walker_blueprints(), prop_blueprints(), sensor_blueprints())
        for blueprint in group
    }
)
"""Every blueprint by its type id, in a fixed order."""
