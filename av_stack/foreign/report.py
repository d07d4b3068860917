"""The report of a foreign replay, as text and as JSON: the modules that ran, why others did not, and some figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

VERSION = 1
"""Version of the JSON content."""


@dataclass(frozen=True, slots=True)
class CameraFigures:
    """The camera at the end of the replay; with `is_calibrated` its pitch and yaw come from the lane lines."""

    width_px: int
    height_px: int
    fov_x_deg: float
    height_m: float
    pitch_deg: float
    yaw_deg: float
    is_calibrated: bool


@dataclass(frozen=True, slots=True)
class ForeignReport:
    """The outcome of a foreign replay: `pictures` pictures in `took_s` seconds.

    Shares are fractions of these pictures; `tracks` counts the tracked road users by kind.
    """

    recording: str
    kind: str
    pictures: int
    last_s: float
    took_s: float
    ran: tuple[str, ...]
    disabled: Mapping[str, str]
    camera: CameraFigures
    left_line_share: float
    right_line_share: float
    unwell_share: float
    tracks: Mapping[str, int]
    detector: str
    notes: tuple[str, ...]
    problem: str | None
    versions: Mapping[str, str]

    def lines(self) -> list[str]:
        """The report for people."""
        camera = self.camera
        angles = f"pitch {camera.pitch_deg:.1f} and yaw {camera.yaw_deg:.1f} degrees"
        source = "from the lane lines" if camera.is_calibrated else "as assumed"
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(self.tracks.items())) or "none"
        return [
            f"{self.kind}: {self.pictures} pictures, {self.last_s:.2f} s, in {self.took_s:.1f} s",
            f"ran: {', '.join(self.ran)}",
            *(f"disabled: {name}: {why}" for name, why in self.disabled.items()),
            f"camera: {angles} {source}, {camera.height_m:.2f} m above the ground",
            f"the lane's left line in {self.left_line_share:.0%}, its right one in {self.right_line_share:.0%} of them",
            f"tracked road users: {found}",
            *self.notes,
        ]

    def content(self) -> dict[str, Any]:
        """The report as plain values."""
        return {"version": VERSION, **asdict(self)}
