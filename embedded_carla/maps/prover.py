"""Child process that reads maps with the wheel's parser: `python -m embedded_carla.maps.prover`.

It answers each request on standard input with one JSON line. Each map is read in a forked process, so that a crash is
an answer like any other. The program has a single thread (so no numpy), because it forks.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import carla
from lxml import etree

from embedded_carla.maps.questions import NeverEndsError, ask_everything

Question = Callable[[Any, Callable[[int], None]], None]
_PR_SET_PDEATHSIG = 1
_LOCATE_SHARE = 0.2  # of the time limit, for each reading of a part of the map
_MOST_TOLD = 200
_OUT_OF_MEMORY = 2
_ENDLESS = (signal.SIGXCPU, signal.SIGALRM)
_WALL_PER_CPU = 3.0  # limit of real time per CPU time: on a busy machine a process gets less than one core


@dataclass(frozen=True, slots=True)
class Limits:
    """CPU seconds and bytes of memory that one reading may take."""

    seconds: float
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a map, and the road on which it occurs ("" if unknown)."""

    what: str
    road: str = ""


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def judge(text: str, limits: Limits) -> Failure | None:
    """Read the map as a client does. Returns the failure, or None."""
    failure = _read_in_fork(text, limits)
    if failure is None or failure.road:
        return failure
    return Failure(failure.what, _locate(text, limits))


def traffic_fault(text: str, limits: Limits) -> str:
    """The error of a TrafficManager that prepares the map, "" if there is none."""
    failure = _read_in_fork(text, limits, _prepare_traffic)
    return "" if failure is None else failure.what.replace("CARLA's map parser", "CARLA's TrafficManager")


def _prepare_traffic(town: Any, _on_road: Callable[[int], None]) -> None:
    town.cook_in_memory_map(os.devnull)


def _read_in_fork(text: str, limits: Limits, question: Question = ask_everything) -> Failure | None:
    """Read the map and query it in a forked process. Returns the failure, or None."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _read_and_leave(text, limits, question, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read().decode(errors="replace").splitlines()
    _, status = os.waitpid(process, 0)
    road, said = "", ""
    for line in told:
        kind, _, rest = line.partition(" ")
        road, said = (rest, said) if kind == "road" else (road, rest)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in _ENDLESS:
            return Failure(f"takes CARLA's map parser more than {limits.seconds:g} s")
        return Failure(f"crashes CARLA's map parser ({signal.strsignal(number)})", road)
    if os.WEXITSTATUS(status) == _OUT_OF_MEMORY:
        return Failure(f"takes CARLA's map parser more than {limits.most_bytes / 2**30:.2g} GiB")
    return Failure(said, road) if os.WEXITSTATUS(status) else None


def _read_and_leave(text: str, limits: Limits, question: Question, pipe: int) -> None:
    """In the forked process: exit with 0 without failure, with 2 if memory ran out, else with 1 and a reason in `pipe`.

    It does not return.
    """

    def tell(kind: str, what: str) -> None:
        os.write(pipe, f"{kind} {' '.join(what.split())[:_MOST_TOLD]}\n".encode())

    status = 1
    try:
        die_with_parent()
        _limit(limits)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1), os.dup2(silent, 2)
        question(carla.Map("map", text), lambda road: tell("road", str(road)))
        status = 0
    except NeverEndsError as error:
        tell("said", str(error))
    except MemoryError:
        status = _OUT_OF_MEMORY
    except Exception as error:  # noqa: BLE001 - whatever the wheel throws is the answer
        tell("said", f"is refused by CARLA's map parser ({error})")
    finally:
        os._exit(status)


def _limit(limits: Limits) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = limits.most_bytes if hard == resource.RLIM_INFINITY else min(limits.most_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds = max(int(limits.seconds + 0.5), 1)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, _WALL_PER_CPU * seconds)


def _locate(text: str, limits: Limits) -> str:
    """Id of a road that fails on its own, found by bisection; "" if there is none or the time is over."""
    root = etree.fromstring(text.lstrip().encode(), etree.XMLParser(huge_tree=True, resolve_entities=False))
    for element in root.iter("{*}*"):
        element.tag = etree.QName(element).localname
    roads = root.findall("road")
    part = Limits(max(limits.seconds * _LOCATE_SHARE, 1.0), limits.most_bytes)
    deadline_s = time.monotonic() + limits.seconds
    while len(roads) > 1 and time.monotonic() < deadline_s:
        half = roads[: len(roads) // 2]
        roads = half if _read_in_fork(_alone(root, half), part) else roads[len(roads) // 2 :]
    is_found = len(roads) == 1 and _read_in_fork(_alone(root, roads), part) is not None
    return str(roads[0].get("id")) if is_found else ""


def _alone(root: Any, roads: list[Any]) -> str:
    """The text of a map with these roads only, without links to other roads."""
    made = etree.Element("OpenDRIVE")
    made.extend(copy.deepcopy(header) for header in root.findall("header"))
    for road in map(copy.deepcopy, roads):
        road.set("junction", "-1")
        for path in ("link", "signals/signalReference"):
            for element in road.findall(path):
                element.getparent().remove(element)
        made.append(road)
    return str(etree.tostring(made, encoding="unicode"))


def _requests(source: BinaryIO) -> Any:
    """Yield (limits, text) of each request: a JSON line with the limits and the text's size, then the text."""
    while line := source.readline():
        request = json.loads(line)
        yield Limits(request["seconds"], request["most_bytes"]), source.read(request["size"]).decode()


def main() -> None:
    die_with_parent()
    with contextlib.suppress(BrokenPipeError):
        for limits, text in _requests(sys.stdin.buffer):
            failure = judge(text, limits)
            answer = {
                "failure": None if failure is None else {"what": failure.what, "road": failure.road},
                "traffic_fault": traffic_fault(text, limits) if failure is None else "",
            }
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
