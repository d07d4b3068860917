"""From a map's name or text to everything that is built from it."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from shapely.errors import ShapelyError

from embedded_carla import navigation, opendrive, scenery
from embedded_carla.errors import MapError
from embedded_carla.log import log
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.cache import CODE_DIGEST, MapCache, default_folder
from embedded_carla.opendrive import RoadNetwork
from embedded_carla.scene import Scenery
from embedded_carla.world.build_apart import build_apart

GENERATED_MAP = "OpenDriveMap"
"""The name under which CARLA's client loads a map whose text it has sent."""

_KEPT_MAPS = 3


@dataclass(frozen=True, slots=True)
class LoadedMap:
    """A map ready to be simulated. `version` changes with the text; `navigation` is the walkers' mesh as clients
    read it, empty where nobody walks."""

    name: str
    xodr_text: str  # after repairs, as clients get it
    geo: tuple[float, float]  # latitude, longitude of the origin, degrees
    scenery: Scenery
    version: str
    navigation: bytes

    @property
    def navigation_file(self) -> str:
        """The mesh's name for clients, which keep files by name for ever: another content has another name."""
        return f"{self.name}_{hashlib.sha256(self.navigation).hexdigest()[:16]}.bin"


class MapLoader:
    """Loads maps; the last few are kept, so that loading a town again costs nothing."""

    def __init__(self, library: MapLibrary, seed: int, cache: MapCache | None = None) -> None:
        """`cache` keeps maps from one server to the next; the user's own by default."""
        self._library = library
        self._seed = seed
        self._cache = MapCache(default_folder()) if cache is None else cache
        self._kept: OrderedDict[str, LoadedMap] = OrderedDict()
        self._client_text: str | None = None

    def names(self) -> list[str]:
        return self._library.names()

    def keep_client_text(self, text: str) -> None:
        """The text that the next load of `OpenDriveMap` means. Raises MapError when it is no usable map."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise MapError(f"map {GENERATED_MAP}: the text is not UTF-8") from error
        opendrive.parse(text, GENERATED_MAP)  # most of what is wrong shows here, at once
        self._build(GENERATED_MAP, text, from_client=True)
        self._client_text = text

    def load(self, name: str) -> LoadedMap:
        """Raises MapError: no such map (naming those there are), or unusable."""
        if name.rsplit("/", 1)[-1] == GENERATED_MAP:
            if self._client_text is None:
                raise MapError(f"{GENERATED_MAP}: no client has sent an OpenDRIVE text yet")
            return self._build(GENERATED_MAP, self._client_text, from_client=True)
        called, text = self._library.load_text(name)
        return replace(self._build(called.removesuffix("_Opt"), text), name=called)

    def _build(self, name: str, text: str, *, from_client: bool = False) -> LoadedMap:
        version = version_of(name, text)
        if version in self._kept:
            self._kept.move_to_end(version)
            return self._kept[version]
        key = f"{CODE_DIGEST} {self._seed} {version}"
        loaded = self._cache.load(key)
        if not isinstance(loaded, LoadedMap):
            loaded = build_apart(name, text, self._seed) if from_client else make_map(name, text, self._seed)
            self._cache.store(key, loaded)
        self._kept[version] = loaded
        if len(self._kept) > _KEPT_MAPS:
            self._kept.popitem(last=False)
        return loaded


def version_of(name: str, text: str) -> str:
    return hashlib.sha256(f"{name}\n{text}".encode(errors="surrogateescape")).hexdigest()


def make_map(name: str, text: str, seed: int) -> LoadedMap:
    """Everything that is built from a map's text. Raises MapError when it is no usable map."""
    network = opendrive.parse(text, name)
    mesh = _walkers_mesh(network)
    return LoadedMap(
        name, network.xodr_text, network.geo, scenery.build(network, seed), version_of(name, text), mesh
    )  # fmt: skip


def _walkers_mesh(network: RoadNetwork) -> bytes:
    """A map on which no mesh can be made is told and has none, like one without pavements: vehicles can still drive."""
    try:
        return navigation.encode(navigation.build(network))
    except (ValueError, ShapelyError) as error:
        log(f"map {network.name}: no walkers' mesh: {error}")
        return b""
