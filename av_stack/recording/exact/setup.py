"""What a drive was driven with: all that a replay needs besides what each tick measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from av_core.types import Rig, VehicleParameters

EMBEDDED = "embedded"
"""What `DriveSetup.server` is for an embedded server that the run itself started."""

FAULTS_APART = "; "
"""What separates the drive's faults in the recording's metadata."""


@dataclass(frozen=True, slots=True)
class DriveSetup:
    """The setup of one drive.

    `map_text` is the OpenDRIVE text of the map. `scenario` and `stack` are the scenario and the stack's configuration
    as JSON. `versions` holds the version of the code, its commit, and those of the libraries that compute. `weights` is
    the detector's file, with a digest, and empty without a detector. `has_pictures` says whether every picture is
    stored without loss. `server` is the address of the server that it drove on, `EMBEDDED`, or empty where that is not
    known.
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
