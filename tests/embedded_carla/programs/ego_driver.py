"""Stands in for the person or agent that scenarios expect at the ego's wheel.

A client beside scenario_runner: waits until a vehicle with the ego's role name appears and hands it to the
TrafficManager that scenario_runner itself runs and steps, so that the drive follows the scenario's ticks.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Iterable
from typing import cast

import carla

_POLL_S = 0.05


def _ego(client: carla.Client, role_names: tuple[str, ...]) -> carla.Vehicle | None:
    vehicles = cast("Iterable[carla.Vehicle]", client.get_world().get_actors().filter("vehicle.*"))
    return next((vehicle for vehicle in vehicles if vehicle.attributes.get("role_name") in role_names), None)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def main() -> int:
    """Status 0 once the ego is handed over, 1 when none appeared within --patience seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tm-port", type=int, required=True, help="of scenario_runner's TrafficManager")
    parser.add_argument(
        "--turn", choices=["Straight", "Left", "Right"], default="Straight", help="at the first junction"
    )
    parser.add_argument("--patience", type=float, default=120.0)
    arguments = parser.parse_args()
    client = carla.Client("127.0.0.1", arguments.port)
    client.set_timeout(60.0)
    end_s = time.monotonic() + arguments.patience
    while time.monotonic() < end_s:
        # scenario_runner loads its world, then makes its TrafficManager, then the ego: no ego of before is taken.
        ego = _ego(client, ("hero", "ego_vehicle")) if _is_listening(arguments.tm_port) else None
        if ego is not None:
            manager = client.get_trafficmanager(arguments.tm_port)
            ego.set_autopilot(True, arguments.tm_port)
            manager.set_route(ego, [arguments.turn] + ["Straight"] * 20)
            print(f"ego {ego.id} drives", flush=True)
            return 0
        time.sleep(_POLL_S)
    print("no ego appeared", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
