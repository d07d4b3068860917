"""The limits that each module has to meet in any weather, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from av_stack.weather_stress import figures
from av_stack.weather_stress.drive_figures import PASSES

DRIVE = "drive"

Values = Mapping[str, float | None]
"""Figures by name; None where there are too few samples."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit: a module misses it if its `figure` is above `value`, or, with `is_least`, below it."""

    module: str
    figure: str
    value: float
    is_least: bool
    what: str
    reason: str

    def is_missed(self, values: Values) -> bool | None:
        """Whether the limit is missed; None if the figure is not known."""
        found = values.get(self.figure)
        if found is None:
            return None
        return found < self.value if self.is_least else found > self.value


LIMITS = (
    Limit(
        "lanes", figures.LINES_KEPT, 0.9, True,
        "of the lane lines that are right in the reference weather, the share that is right: within 0.3 m at 10 m",
        "localization bridges single gaps; with a tenth of the lines gone, gaps last longer than a second",
    ),
    Limit(
        "detector", figures.USERS_KEPT, 0.9, True,
        "of the road users up to 40 m that the camera detects in the reference weather, the share that it detects",
        "a car at 13 m/s needs 40 m to stop; tracks bridge single pictures, not one in ten",
    ),
    Limit(
        "depth", figures.RANGE_ERROR, 0.10, False,
        "median relative error of the distance of these road users, where the camera detects them",
        "the plan keeps 2 s from a vehicle ahead; an error of 10 % takes 0.2 s of them",
    ),
    Limit(
        "localization", figures.ACROSS_P95, 0.5, False,
        "95 % of the position errors across the lane are below this, in metres",
        "a car of 1.9 m in a lane of 3.5 m has 0.8 m to either line; control takes up to 0.3 m of it",
    ),
    Limit(
        "lights", figures.LIGHTS_KEPT, 0.9, True,
        "of the traffic lights that are read rightly in the reference weather, the share that is read rightly",
        "the stack brakes for a light that it does not read, and drives on late",
    ),
    Limit(
        "lights", figures.LIGHTS_WRONG, 0.05, False,
        "share of the traffic lights that are read as another colour",
        "a red light read as green is driven through",
    ),
    Limit(
        DRIVE, PASSES, 1.0, True,
        "the drive in this weather lacks nothing that its scenario expects",
        "it is what the scenario was written for",
    ),
)  # fmt: skip

MODULES = tuple(dict.fromkeys(limit.module for limit in LIMITS))


def is_missed(module: str, values: Values) -> bool | None:
    """Whether a module misses any of its limits; None where none of its figures is known."""
    known = [found for limit in LIMITS if limit.module == module and (found := limit.is_missed(values)) is not None]
    return any(known) if known else None
