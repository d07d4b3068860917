"""The driving scores of CARLA Leaderboard 2.0 and 2.1: route completion times a penalty for the infractions.

Both versions count the same infractions. Version 2.0 multiplies a factor for each; version 2.1 divides by one plus the
sum of their weights, so that a long route with several infractions does not end near 0. `docs/judging.md` names the
sources, and a test compares both formulas with results of the Leaderboard's own program.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

MINIMUM_SPEED_LOSS_20 = 0.3
"""Largest loss of the 2.0 factor for one quarter of the route, at a standstill."""

MINIMUM_SPEED_WEIGHT_21 = 0.4
"""Weight in 2.1 of one quarter of the route, at a standstill."""


@dataclass(frozen=True, slots=True)
class Infractions:
    """The infractions of a drive; fields without a description are numbers of events.

    * `minimum_speed_percent`: the ego's mean speed in percent of the traffic's, for each quarter of the route in which
      the ego was slower than the traffic.
    * `outside_lane_share`: the share in [0, 1] of the route that the ego drove outside its lanes.
    """

    collisions_walker: int = 0
    collisions_vehicle: int = 0
    collisions_static: int = 0
    red_lights: int = 0
    stop_signs: int = 0
    scenario_timeouts: int = 0
    failed_yields: int = 0
    minimum_speed_percent: tuple[float, ...] = ()
    outside_lane_share: float = 0.0

    @property
    def collisions(self) -> int:
        return self.collisions_walker + self.collisions_vehicle + self.collisions_static

    def __add__(self, other: Infractions) -> Infractions:
        return Infractions(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def count(self, kind: str) -> int:
        """The number of events of one of the kinds in `PENALTIES`."""
        return int(getattr(self, kind))


@dataclass(frozen=True, slots=True)
class Penalty:
    """The penalty of one kind of event: a factor in 2.0, a weight in 2.1."""

    factor_20: float
    weight_21: float


PENALTIES = {
    "collisions_walker": Penalty(0.50, 1.00),
    "collisions_vehicle": Penalty(0.60, 0.70),
    "collisions_static": Penalty(0.65, 0.60),
    "red_lights": Penalty(0.70, 0.40),
    "stop_signs": Penalty(0.80, 0.25),
    "scenario_timeouts": Penalty(0.70, 0.40),
    "failed_yields": Penalty(0.70, 0.40),
}
"""Penalty for each event, by the field of `Infractions` that counts it."""


def score_20(route_completion: float, infractions: Infractions) -> float:
    """The score from 0 to 100 of Leaderboard 2.0, for a route completion in [0, 1]."""
    factors = [penalty.factor_20 ** infractions.count(kind) for kind, penalty in PENALTIES.items()]
    factors += [1.0 - MINIMUM_SPEED_LOSS_20 * (1.0 - p / 100.0) for p in infractions.minimum_speed_percent]
    return 100.0 * route_completion * math.prod(factors) * (1.0 - infractions.outside_lane_share)


def score_21(route_completion: float, infractions: Infractions) -> float:
    """The score from 0 to 100 of Leaderboard 2.1, for a route completion in [0, 1]."""
    weights = [penalty.weight_21 * infractions.count(kind) for kind, penalty in PENALTIES.items()]
    weights += [MINIMUM_SPEED_WEIGHT_21 * (1.0 - p / 100.0) for p in infractions.minimum_speed_percent]
    return 100.0 * route_completion * (1.0 - infractions.outside_lane_share) / (1.0 + sum(weights))
