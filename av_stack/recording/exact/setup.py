"""The setup of a recorded drive: all data that a replay needs besides the measurements of each tick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from av_core.types import Rig, VehicleParameters

EMBEDDED = "embedded"
"""Value of `DriveSetup.server` for an embedded server that the run itself started."""

FAULTS_APART = "; "
"""Separator of the drive's faults in the recording's metadata."""


@dataclass(frozen=True, slots=True)
class DriveSetup:
    """The setup of one drive.

    * `map_text`: the OpenDRIVE text of the map.
    * `scenario`, `stack`: the scenario and the stack's configuration as JSON.
    * `versions`: the version of the code, its commit, and the versions of the libraries that it computes with.
    * `weights`: the name of the detector's file with a digest of its content; empty without a detector.
    * `has_pictures`: whether every picture is stored without loss.
    * `server`: the address of the server, or `EMBEDDED`; empty if it is not known.
    """

    map_name: str
    map_text: str
    vehicle: VehicleParameters
    rig: Rig
    scenario: str
    stack: str
    seed: int
    agent: str
    oracles: tuple[str, ...]
    device: str
    weights: str
    server_version: str
    versions: Mapping[str, str]
    step_s: float
    has_pictures: bool
    server: str = ""
