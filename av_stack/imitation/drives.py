"""Records drives for the imitation to learn from (`av-stack dataset drive`).

A data set is a folder with files (`drives/00012.npz`), each of a few short drives through one town, and `drives.json`,
which says how they were made. A file follows from the options, the seed and its own number alone; one that is there is
not made again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError, WorldError
from av_core.types import LaneGraph, SignalKind
from av_stack.dataset import children_ignore_interrupts
from av_stack.imitation.recorder import DriveOptions, record_drive
from av_stack.mission import mission_route
from av_stack.server_process import ServerProcess, embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from perception.imitation.groups import GROUPS, group_of
from perception.imitation.samples import CAUSES, drive_files, join_samples, no_samples, read_samples, write_samples
from scenarios.model import Scenario
from scenarios.random_routes import Length, random_scenario
from sim_configs.load import load_stack

ATTEMPTS = 3
"""Attempts at a drive: with many servers at once, two sometimes pick the same port."""

LENGTH = Length(300.0, 1500.0)

FAILURES_MIN = 2
"""Number of drives that may fail in any case: a server that is lost once in a while must not end the recording."""

FAILURES_SHARE = 0.1
"""Fraction of all drives that may fail in addition."""

EMPTY_SHARE = 0.2
"""Fraction of the drives without other vehicles."""

LIGHT_SHARE = 0.5
"""Fraction of the drives that begin before a traffic light."""

LIGHT_AHEAD_M = (20.0, 80.0)
"""Smallest and largest distance of this light from the start."""

LIGHT_TRIES = 8
"""Number of random routes that are tried for such a start."""

_ANOTHER = 1_000_000
"""Difference between the numbers of the random routes that are tried for one drive."""


@dataclass(frozen=True, slots=True)
class DrivesSpec:
    """The drives to record, until there are `frames` pictures.

    * `legs`: number of drives in each file. Many short drives show more places, lights and cars than few long ones; the
      drives of one file share one server, so that its start costs less.
    * `maps`: the towns, which the files take in turn.
    * `weathers`: without them, each drive draws its own weather.
    * `vehicles`: number of other vehicles; without it, each drive draws its own number.
    """

    maps: tuple[str, ...]
    frames: int
    seed: int = 0
    legs: int = 3
    weathers: tuple[str, ...] = ()
    vehicles: int | None = None
    maps_folder: Path | None = None
    options: DriveOptions = field(default_factory=DriveOptions)

    def scenario(self, number: int, leg: int = 0) -> Scenario:
        """A drive of the `number`th file. Raises ConfigError where the town has no such route."""
        town = self.maps[number % len(self.maps)]
        graph = _graph(embedded_map_files(self.maps_folder)[town])
        in_town = number // len(self.maps) * self.legs + leg
        tries = LIGHT_TRIES if _has_light(graph) and (in_town + 1) % round(1.0 / LIGHT_SHARE) == 0 else 1
        for another in range(tries):
            drawn = random_scenario(graph, town, self.seed, number * self.legs + leg + another * _ANOTHER, LENGTH)
            if tries > 1 and _leads_to_light(graph, drawn):
                break
        vehicles = self.vehicles
        if vehicles is None and in_town % round(1.0 / EMPTY_SHARE) == 0:
            vehicles = 0
        changes: dict[str, Any] = {}
        if vehicles is not None:
            changes["traffic"] = drawn.traffic.model_copy(update={"vehicles": vehicles})
        if self.weathers:
            changes["weather"] = self.weathers[in_town % len(self.weathers)]
        return drawn.model_copy(update=changes)

    def plain(self) -> dict[str, Any]:
        """All values on which the drives depend, for JSON."""
        told = asdict(replace(self, frames=0, maps_folder=None))
        weights = self.options.weights
        told["options"]["weights"] = None if weights is None else weights.name
        del told["frames"], told["maps_folder"]
        return dict(json.loads(json.dumps(told)))


@lru_cache(maxsize=4)
def _graph(path: Path) -> LaneGraph:
    return read_lane_graph(path)


def _has_light(graph: LaneGraph) -> bool:
    return any(signal.kind is SignalKind.TRAFFIC_LIGHT for signal in graph.signals)


def _leads_to_light(graph: LaneGraph, scenario: Scenario) -> bool:
    """Whether the route begins `LIGHT_AHEAD_M` before a traffic light."""
    least_m, most_m = LIGHT_AHEAD_M
    signals = mission_route(graph, scenario, load_stack(scenario.ego.stack).planning).signals
    return any(one.kind is SignalKind.TRAFFIC_LIGHT and least_m <= one.stop_s_m <= most_m for one in signals)


def record_drives(spec: DrivesSpec, out: Path, workers: int, tell: Callable[[int, int], None]) -> dict[str, Any]:
    """Record what is missing in `out`; returns the summary, which is also written to `summary.json`.

    `tell(pictures, wanted)` is called after each drive. Drives are counted by their numbers, so that the set does not
    depend on `workers`. Raises ConfigError where `out` holds other drives.
    """
    _claim(out, spec)
    counts = {int(path.stem): len(read_samples(path)[0]) for path in drive_files(out)}
    failures: list[str] = []
    numbers = _missing(spec.frames, counts)
    for number, result in _made_here(spec, out, numbers) if workers == 1 else _made(spec, out, workers, numbers):
        counts[number] = result if isinstance(result, int) else _failed(spec, out, number, result, counts, failures)
        tell(_reached(counts), spec.frames)
    for number in sorted(counts)[_needed(spec.frames, counts) :]:
        _path(out, number).unlink()
    return summarise(out)


def _missing(frames: int, counts: dict[int, int]) -> Iterator[int]:
    """The numbers of the drives to record, until `counts`, which the caller fills, has enough pictures."""
    number = 0
    while _reached(counts) < frames:
        if number not in counts:
            yield number
        number += 1


def _reached(counts: dict[int, int]) -> int:
    """Pictures of the drives from 0 on without a gap."""
    number = total = 0
    while number in counts:
        total += counts[number]
        number += 1
    return total


def _needed(frames: int, counts: dict[int, int]) -> int:
    """The number of drives, counted from the first, that together have `frames` pictures."""
    number = total = 0
    while total < frames and number in counts:
        total += counts[number]
        number += 1
    return number


def _made_here(spec: DrivesSpec, out: Path, numbers: Iterator[int]) -> Iterator[tuple[int, int | WorldError]]:
    """Record drives one after the other: their numbers, and their pictures or why they failed."""
    for number in numbers:
        try:
            yield number, _make(spec, out, number)
        except WorldError as error:
            yield number, error


def _made(spec: DrivesSpec, out: Path, workers: int, numbers: Iterator[int]) -> Iterator[tuple[int, int | WorldError]]:
    """The same with `workers` at a time, in the order in which they end."""
    running: dict[Future[int], int] = {}
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            while True:
                while len(running) < workers and (number := next(numbers, None)) is not None:
                    with children_ignore_interrupts():
                        running[pool.submit(_make, spec, out, number)] = number
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    error = future.exception()
                    if error is not None and not isinstance(error, WorldError):
                        raise error
                    yield running.pop(future), error if error is not None else future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():  # a drive takes a minute; its server ends with the worker
                worker.terminate()
            raise


def _failed(
    spec: DrivesSpec, out: Path, number: int, error: WorldError, counts: dict[int, int], failures: list[str]
) -> int:
    """Note a drive that failed as one without pictures. Raises its error where too many fail."""
    failures.append(str(error))
    if len(failures) > max(FAILURES_MIN, FAILURES_SHARE * len(counts)):
        raise error
    scenario = spec.scenario(number)
    facts = {"weather": scenario.weather, "time_s": 0.0, "end": "server lost", "pictures": 0, "error": str(error)}
    write_samples(_path(out, number), no_samples(), {"map": scenario.map, "legs": [facts]})
    return 0


def _make(spec: DrivesSpec, out: Path, number: int) -> int:
    """Record the drives of one file, with up to `ATTEMPTS` attempts; returns how many pictures it has."""
    scenarios = [spec.scenario(number, leg) for leg in range(spec.legs)]
    folder = [] if spec.maps_folder is None else ["--maps", str(spec.maps_folder)]
    for attempt in range(ATTEMPTS):
        try:
            with ServerProcess(["--map", scenarios[0].map, *folder]) as address:
                made = [
                    record_drive(address, scenario, spec.options, [spec.seed, number, leg])
                    for leg, scenario in enumerate(scenarios)
                ]
            legs = [facts | {"pictures": len(samples)} for samples, facts in made]
            joined = join_samples([samples for samples, _ in made])
            write_samples(_path(out, number), joined, {"map": scenarios[0].map, "legs": legs})
            return len(joined)
        except WorldError:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(1.0)
    raise AssertionError("unreachable")


def _path(out: Path, number: int) -> Path:
    return out / "drives" / f"{number:05d}.npz"


def _claim(out: Path, spec: DrivesSpec) -> None:
    made = out / "drives.json"
    if made.exists() and json.loads(made.read_text()) != spec.plain():
        raise ConfigError(f"{out} holds drives recorded with other options ({made}); name another folder")
    (out / "drives").mkdir(parents=True, exist_ok=True)
    made.write_text(json.dumps(spec.plain(), indent=1) + "\n")


def summarise(out: Path) -> dict[str, Any]:
    """The summary of the data set's content; also written to `summary.json`."""
    maps: Counter[str] = Counter()
    weathers: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    files = drive_files(out)
    driven_s = 0.0
    for path in files:
        samples, facts = read_samples(path)
        maps[facts["map"]] += len(samples)
        for leg in facts["legs"]:
            weathers[leg["weather"]] += leg["pictures"]
            ends[leg["end"]] += 1
            driven_s += leg["time_s"]
        causes.update(CAUSES[cause] for cause in samples.cause.tolist())
        if len(samples):
            kinds = group_of(samples.speed_mps, samples.target_mps, samples.path_m)
            groups.update(GROUPS[kind] for kind in kinds.tolist())
    summary: dict[str, Any] = {
        "pictures": sum(maps.values()),
        "drives": sum(ends.values()),
        "driven_s": round(driven_s, 1),
        "bytes": sum(path.stat().st_size for path in files),
        "by_map": dict(sorted(maps.items())),
        "by_weather": dict(sorted(weathers.items())),
        "by_group": {name: groups[name] for name in GROUPS},
        "by_cause": {name: causes[name] for name in CAUSES},
        "ends": dict(sorted(ends.items())),
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return summary
