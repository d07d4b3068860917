"""CARLA Leaderboard 2 routes: the scenario types, a reader of route XML, its weather, and a lint.

Places and headings are in CARLA's frame (left-handed, metres, degrees), as the files have them.
"""

from __future__ import annotations
