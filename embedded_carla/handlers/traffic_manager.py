"""RPC methods for addresses of TrafficManagers; they live in clients, and other clients find them here."""

from __future__ import annotations

from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec


@value("is_traffic_manager_running")
def is_traffic_manager_running(simulation: Simulation, port: int) -> bool:
    """Whether a TrafficManager listens at `port`.

    Raises CommandError on a map that would crash the client: the client asks this before it creates a TrafficManager.
    """
    if simulation.map.traffic_fault:
        raise CommandError(f"map {simulation.map.name}: {simulation.map.traffic_fault}")
    return port in simulation.traffic_managers


@value("get_traffic_manager_running")
def get_traffic_manager_running(simulation: Simulation, port: int) -> Any:
    return simulation.traffic_managers.get(port, ("", 0))


@value("add_traffic_manager_running")
def add_traffic_manager_running(simulation: Simulation, where: Any) -> bool:
    given, number = codec.items(where, 2, "traffic manager")[:2]
    host, port = codec.text(given, "traffic manager's host", 255), codec.integer(number, "its port", 1, 65535)
    if port in simulation.traffic_managers:
        return False
    simulation.traffic_managers[port] = (host, port)
    return True


@void("destroy_traffic_manager")
def destroy_traffic_manager(simulation: Simulation, port: int) -> None:
    simulation.traffic_managers.pop(port, None)
