"""The runs of a suite as data: the scenario or route is text, so that any process on any machine can drive it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from av_stack.agents.names import STACK
from av_stack.world.spec import Address

FILES = {"scenario": "scenario.yaml", "route": "route.xml"}
"""Name of the file, in the folder of a run, that holds its scenario or route."""

DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a suite that hold for all its runs. Without `address`, each run has a server of its own."""

    maps: Path | None = None
    address: Address | None = None
    oracles: tuple[str, ...] = ()
    agent: str = STACK
    seed: int | None = None
    agents: Path | None = None
    step_limit_s: float | None = None
    weights: Path | None = None
    detector: str | None = None

    def arguments(self) -> tuple[str, ...]:
        """The options as arguments of `av-stack run`."""
        given = {
            "--maps": str(self.maps) if self.maps is not None else None,
            "--server": str(self.address) if self.address is not None else None,
            "--oracle": ",".join(self.oracles) or None,
            "--agent": self.agent,
            "--seed": str(self.seed) if self.seed is not None else None,
            "--agents": str(self.agents) if self.agents is not None else None,
            "--weights": str(self.weights) if self.weights is not None else None,
            "--detector": self.detector,
            "--step-limit": str(self.step_limit_s) if self.step_limit_s is not None else None,
        }
        return tuple(part for name, value in given.items() if value is not None for part in (name, value))


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a scenario table (YAML) or a Leaderboard route (XML with that route alone).

    * `name`: unique in the suite, and the name of the run's folder.
    * `refusal`: why the run cannot be started; empty if it can.
    * `map_digest`: a digest of the map's file, if the map comes from the suite's options; else empty.
    """

    name: str
    kind: Literal["scenario", "route"]
    text: str
    map_name: str
    refusal: str = ""
    map_digest: str = ""

    def digest(self) -> str:
        """A digest of the scenario or route and its map; two jobs have the same digest only if these are equal."""
        return digest(self.kind, self.text, self.map_digest, self.refusal)


@dataclass(frozen=True, slots=True)
class Work:
    """A command of av-stack that a job runs instead of `run`: it reads `file` and the run's table, writes a result."""

    command: str
    file: Path

    def words(self, table: Path, out: Path) -> tuple[str, ...]:
        """The command's words."""
        return (self.command, str(self.file), str(table), "--out", str(out))


@dataclass(frozen=True, slots=True)
class Task:
    """The `number`th attempt at a job, counted from 1 over the life of the suite's folder."""

    job: Job
    number: int

    @property
    def name(self) -> str:
        return f"{self.job.name}.{self.number}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt ended: `end` in words, `error` of the drive or None, wall-clock `seconds`.

    `crash` names what crashed: the server, the client or the machine; None if nothing did. An attempt that crashed says
    nothing about the driving.
    """

    end: str
    error: str | None
    seconds: float
    crash: str | None = None


def digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:DIGEST_CHARS]
