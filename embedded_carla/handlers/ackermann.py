"""RPC methods for Ackermann control: targets and controller gains."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec
from embedded_carla.world.vehicles.ackermann import AckermannControl, AckermannSettings

MOST = 1.0e6
"""Largest magnitude of angles, speeds, accelerations and gains; larger values are meaningless."""


@void("apply_ackermann_control_to_vehicle")
def apply_ackermann_control_to_vehicle(simulation: Simulation, actor_id: int, control: Any) -> None:
    """Angles in rad, speeds in m/s; the control holds until a vehicle control is applied."""
    episode = simulation.episode
    numbers = (
        codec.number(v, "ackermann control", -MOST, MOST) for v in codec.items(control, 5, "ackermann control")[:5]
    )
    episode.ackermann.drive(episode.vehicle(actor_id), AckermannControl(*numbers))


@value("get_ackermann_controller_settings")
def get_ackermann_controller_settings(simulation: Simulation, actor_id: int) -> Any:
    episode = simulation.episode
    return astuple(episode.ackermann.controller(episode.vehicle(actor_id)).settings)


@void("apply_ackermann_controller_settings")
def apply_ackermann_controller_settings(simulation: Simulation, actor_id: int, settings: Any) -> None:
    episode = simulation.episode
    gains = (
        codec.number(v, "ackermann settings", -MOST, MOST) for v in codec.items(settings, 6, "ackermann settings")[:6]
    )
    episode.ackermann.controller(episode.vehicle(actor_id)).settings = AckermannSettings(*gains)
