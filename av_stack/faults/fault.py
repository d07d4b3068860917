"""The faults that can be injected into a drive, and their text form: `camera:freeze@12s`, `gnss:noise=15@4s-10s`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from av_core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind of fault; `strength` is the default strength, None for a kind without one."""

    name: str
    what: str
    strength: float | None = None
    unit: str = ""
    strength_max: float = 0.0


CAMERA_FREEZE = FaultKind("camera:freeze", "the front camera repeats its last picture")
CAMERA_DROP = FaultKind("camera:drop", "the front camera sends no pictures")
CAMERA_BLACK = FaultKind("camera:black", "the front camera's pictures are black")
CAMERA_NOISE = FaultKind("camera:noise", "Gaussian noise on the front camera's pictures", 40.0, "grey levels", 255.0)
CAMERA_DELAY = FaultKind("camera:delay", "the front camera's pictures arrive late", 0.5, "s", 5.0)
CAMERA_OCCLUSION = FaultKind("camera:occlusion", "dirt covers a part of the front camera's lens", 80.0, "%", 100.0)
GNSS_DROP = FaultKind("gnss:drop", "no GNSS fix")
GNSS_NOISE = FaultKind("gnss:noise", "Gaussian noise on each GNSS fix, along each axis", 15.0, "m", 1000.0)
GNSS_JUMP = FaultKind("gnss:jump", "all GNSS fixes are displaced by the same vector", 20.0, "m", 1000.0)
IMU_BIAS = FaultKind("imu:bias", "constant error of the measured turn rate", 0.02, "rad/s", 1.0)
RADAR_OFF = FaultKind("radar:off", "no radar sends a sweep")
CONTROL_DELAY = FaultKind("control:delay", "the vehicle obeys each command late", 0.1, "s", 2.0)
SERVER_KILL = FaultKind("server:kill", "the embedded server is killed")
SERVER_FREEZE = FaultKind("server:freeze", "the embedded server is stopped, and answers no more")

KINDS = (
    CAMERA_FREEZE, CAMERA_DROP, CAMERA_BLACK, CAMERA_NOISE, CAMERA_DELAY, CAMERA_OCCLUSION,
    GNSS_DROP, GNSS_NOISE, GNSS_JUMP, IMU_BIAS, RADAR_OFF, CONTROL_DELAY, SERVER_KILL, SERVER_FREEZE,
)  # fmt: skip
SERVER_FAULTS = (SERVER_KILL, SERVER_FREEZE)
"""Faults after which there is no server, for as long as the drive lasts."""

FORM = "KIND[=STRENGTH]@FROM[-UNTIL], times in s, for example camera:freeze@12s or gnss:noise=15@4s-10s"
_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_TEXT = re.compile(rf"(?P<kind>[^=@]+)(?:=(?P<strength>{_NUMBER}))?@(?P<from>{_NUMBER})s?(?:-(?P<until>{_NUMBER})s?)?")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault from `from_s` until `until_s`, s of the drive; `strength` is in the unit of its kind, 0 without one."""

    kind: FaultKind
    strength: float
    from_s: float
    until_s: float = math.inf

    def is_on(self, time_s: float) -> bool:
        """Whether the fault affects a measurement or command at this time."""
        return self.from_s <= time_s < self.until_s

    def __str__(self) -> str:
        """The text that `parse_fault` reads as this fault."""
        strength = "" if self.kind.strength is None else f"={self.strength:g}"
        until = "" if math.isinf(self.until_s) else f"-{self.until_s:g}s"
        return f"{self.kind.name}{strength}@{self.from_s:g}s{until}"


def parse_fault(text: str) -> Fault:
    """The fault that `text` names in the form `FORM`. Raises ConfigError, which lists what is allowed."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"--fault {text!r:.60}: it has to be {FORM}; kinds are {_names()}")
    kind = next((kind for kind in KINDS if kind.name == found["kind"]), None)
    if kind is None:
        raise ConfigError(f"--fault {text!r:.60}: there is no such kind; kinds are {_names()}")
    if kind in SERVER_FAULTS and found["until"] is not None:
        raise ConfigError(f"--fault {text!r:.60}: {kind.name} has no end")
    from_s = float(found["from"])
    until_s = math.inf if found["until"] is None else float(found["until"])
    if until_s <= from_s:
        raise ConfigError(f"--fault {text!r:.60}: it has to end after it begins")
    return Fault(kind, _strength(kind, found["strength"], text), from_s, until_s)


def parse_faults(texts: Sequence[str]) -> tuple[Fault, ...]:
    """The faults that the texts name. Raises ConfigError as `parse_fault`, and for two of one kind at the same time."""
    faults = tuple(map(parse_fault, texts))
    for number, one in enumerate(faults):
        for other in faults[:number]:
            if one.kind is other.kind and one.from_s < other.until_s and other.from_s < one.until_s:
                raise ConfigError(f"--fault {one}: it overlaps with {other}")
    return faults


def check_faults(faults: Sequence[Fault], *, has_cameras: bool, has_radars: bool, has_own_server: bool) -> None:
    """Raise ConfigError for a fault of a sensor that the drive lacks, and of a server that is not its own."""
    for fault in faults:
        if fault.kind.name.startswith("camera:") and not has_cameras:
            raise ConfigError(f"--fault {fault}: there is no camera; --rig mounts some")
        if fault.kind is RADAR_OFF and not has_radars:
            raise ConfigError(
                f"--fault {fault}: no radar is used; --rig mounts some, and --oracle detection removes them"
            )
        if fault.kind in SERVER_FAULTS and not has_own_server:
            raise ConfigError(f"--fault {fault}: only an embedded server can be harmed, and --server names another")


def _strength(kind: FaultKind, given: str | None, text: str) -> float:
    if kind.strength is None:
        if given is not None:
            raise ConfigError(f"--fault {text!r:.60}: {kind.name} has no strength")
        return 0.0
    strength = kind.strength if given is None else float(given)
    if not 0.0 < strength <= kind.strength_max:
        limits = f"above 0 and at most {kind.strength_max:g} {kind.unit}"
        raise ConfigError(f"--fault {text!r:.60}: the strength of {kind.name} has to be {limits}")
    return strength


def _names() -> str:
    return ", ".join(kind.name for kind in KINDS)
