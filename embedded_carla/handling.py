"""How vehicles handle. The command line reads this module before numpy and all else that takes time to load."""

from __future__ import annotations

from enum import Enum


class Handling(Enum):
    """Vehicle handling model: response to pedals, steering and the weather.

    CARLA is fitted to published data about CARLA's own vehicles. TYRES models the tyres of real vehicles, whose grip
    falls on a wet road, and pedals like theirs.
    """

    CARLA = "carla"
    TYRES = "tyres"
