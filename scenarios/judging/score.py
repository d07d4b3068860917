"""The driving score of CARLA Leaderboard 2: route completion times the product of the infractions' penalties.

Sources: https://leaderboard.carla.org/#task (evaluation and metrics) and `statistics_manager.py` of
https://github.com/carla-simulator/leaderboard (branch leaderboard-2.0). Two of its penalties have no counterpart here:
minimum speed (measured against the background traffic at checkpoints) and yielding to emergency vehicles.
"""

from __future__ import annotations

from dataclasses import dataclass

PENALTY_WALKER = 0.50
PENALTY_VEHICLE = 0.60
PENALTY_STATIC = 0.65
PENALTY_RED_LIGHT = 0.70
PENALTY_STOP_SIGN = 0.80


@dataclass(frozen=True, slots=True)
class Infractions:
    """Numbers of infractions, and the share [0, 1] of the distance outside the lanes of the ego's direction."""

    collisions_walker: int = 0
    collisions_vehicle: int = 0
    collisions_static: int = 0
    red_lights: int = 0
    stop_signs: int = 0
    outside_lane_share: float = 0.0

    @property
    def collisions(self) -> int:
        return self.collisions_walker + self.collisions_vehicle + self.collisions_static


def driving_score(route_completion: float, infractions: Infractions) -> float:
    """The score from 0 to 100, for a route completion in [0, 1]."""
    penalty = (
        PENALTY_WALKER**infractions.collisions_walker
        * PENALTY_VEHICLE**infractions.collisions_vehicle
        * PENALTY_STATIC**infractions.collisions_static
        * PENALTY_RED_LIGHT**infractions.red_lights
        * PENALTY_STOP_SIGN**infractions.stop_signs
        * (1.0 - infractions.outside_lane_share)
    )
    return 100.0 * route_completion * penalty
