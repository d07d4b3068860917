"""Builds a map from its OpenDRIVE text: road network, scenery and walkers' navigation mesh."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from shapely.errors import ShapelyError

from embedded_carla import navigation, opendrive, scenery
from embedded_carla.errors import MapError
from embedded_carla.log import log
from embedded_carla.maps.proof import prove
from embedded_carla.opendrive import RoadNetwork
from embedded_carla.scene import Scenery

UNBUILDABLE = "its numbers make no map that can be built"


@dataclass(frozen=True, slots=True)
class LoadedMap:
    """A map ready for simulation.

    `version` changes with the text. `navigation` is the walkers' navigation mesh in the clients' format; it is empty if
    the map has no place for walkers.
    """

    name: str
    xodr_text: str  # after repairs, as clients get it
    geo: tuple[float, float]  # latitude, longitude of the origin, degrees
    scenery: Scenery
    version: str
    navigation: bytes
    traffic_fault: str = ""  # the error of a TrafficManager that starts on this map

    @property
    def navigation_file(self) -> str:
        """File name of the mesh. It changes with the content, because clients cache files by name for ever."""
        return f"{self.name}_{hashlib.sha256(self.navigation).hexdigest()[:16]}.bin"


def version_of(name: str, text: str) -> str:
    return hashlib.sha256(f"{name}\n{text}".encode(errors="surrogateescape")).hexdigest()


def make_map(name: str, text: str, seed: int, *, is_proved: bool = False) -> LoadedMap:
    """Build everything that depends on a map's text. Raises MapError if it is not a usable map.

    Unless `is_proved`, a child process first tests whether clients can use the text.
    """
    network = opendrive.parse(text, name)
    traffic_fault = "" if is_proved else prove(name, network.xodr_text)
    try:
        made, mesh = scenery.build(network, seed), _walkers_mesh(network)
    except (ArithmeticError, LookupError, MemoryError, ShapelyError, ValueError) as error:
        raise MapError(f"map {name}: {UNBUILDABLE} ({type(error).__name__}: {error})") from error
    return LoadedMap(name, network.xodr_text, network.geo, made, version_of(name, text), mesh, traffic_fault)


def _walkers_mesh(network: RoadNetwork) -> bytes:
    """The encoded navigation mesh. If it cannot be built, it is empty and the log says so: vehicles can still drive."""
    try:
        return navigation.encode(navigation.build(network))
    except (ValueError, ShapelyError) as error:
        log(f"map {network.name}: no walkers' mesh: {error}")
        return b""
