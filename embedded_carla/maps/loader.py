"""Loads maps by name or OpenDRIVE text: from memory, from the cache, or by building them here or in a child process."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace

from embedded_carla import opendrive
from embedded_carla.errors import MapError
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.build import LoadedMap, make_map, version_of
from embedded_carla.maps.build_apart import UNBOUNDED, Build
from embedded_carla.maps.cache import CODE_DIGEST, MapCache, default_folder

GENERATED_MAP = "OpenDriveMap"
"""Name with which CARLA's client loads a map after it has sent the map's text."""

_KEPT_MAPS = 3


class StillBuilding(Exception):  # noqa: N818 - not an error: the caller has to ask again
    """Raised while a map is being built by `build`."""

    def __init__(self, build: Build) -> None:
        super().__init__("a map is being built")
        self.build = build


class MapLoader:
    """Loads maps and keeps the last few in memory, so that loading a town again takes no time."""

    def __init__(self, library: MapLibrary, seed: int, cache: MapCache | None = None) -> None:
        """`cache` keeps maps from one server run to the next; by default it is the user's own."""
        self._library = library
        self._seed = seed
        self._cache = MapCache(default_folder()) if cache is None else cache
        self._kept: OrderedDict[str, LoadedMap] = OrderedDict()
        self._client_text: str | None = None
        self._building: tuple[str, Build] | None = None  # version and build of the map that a child process is building

    def names(self) -> list[str]:
        return self._library.names()

    def keep_client_text(self, text: str, *, may_wait: bool = True) -> None:
        """Store the text for the next load of `OpenDriveMap`. Raises MapError if it is not a usable map.

        Without `may_wait`, raises StillBuilding if a map must be built first; call again when that build is over.
        """
        try:
            version = version_of(GENERATED_MAP, text)
            text.encode()
        except UnicodeEncodeError as error:
            raise MapError(f"map {GENERATED_MAP}: the text is not UTF-8") from error
        if not may_wait:
            self._raise_if_building()
        if self._known(version) is None and not self._end_building(version):
            opendrive.parse(text, GENERATED_MAP)  # finds most errors at once, before a process starts
            build = self._begin_building(version, Build(GENERATED_MAP, text, self._seed))
            if not may_wait:
                raise StillBuilding(build)
            build.wait()
            self._end_building(version)
        self._client_text = text

    def _raise_if_building(self) -> None:
        """Raise StillBuilding while a map is being built: only one build runs at a time."""
        if self._building is not None and not self._building[1].is_over():
            raise StillBuilding(self._building[1])

    def _begin_building(self, version: str, build: Build) -> Build:
        self._building = (version, build)
        return build

    def _end_building(self, version: str) -> bool:
        """Keep the finished map if it is `version`, else discard the build. Returns whether the map was kept."""
        built, self._building = self._building, None
        if built is None:
            return False
        if built[0] != version:
            built[1].close()
            return False
        self._keep(version, built[1].result())
        return True

    def close(self) -> None:
        """Stop the build in progress, if any."""
        self._end_building("")

    def load(self, name: str, *, may_wait: bool = True) -> LoadedMap:
        """Load the map `name`. Raises MapError if there is no such map (it lists the names) or it is not usable.

        Without `may_wait`, raises StillBuilding if a map must be built first; call again when that build is over.
        """
        if name.rsplit("/", 1)[-1] == GENERATED_MAP:
            if self._client_text is None:
                raise MapError(f"{GENERATED_MAP}: no client has sent an OpenDRIVE text yet")
            self.keep_client_text(self._client_text, may_wait=may_wait)
            return self._kept[version_of(GENERATED_MAP, self._client_text)]
        called, text = self._library.load_text(name)
        base = called.removesuffix("_Opt")
        version = version_of(base, text)
        known = self._known(version)
        if known is None:
            known = self._build_here(version, base, text) if may_wait else self._build_in_child(version, base, text)
        return replace(known, name=called)

    def _build_here(self, version: str, name: str, text: str) -> LoadedMap:
        """Build the map in this process: the fastest way, but no client gets an answer meanwhile."""
        if self._building is not None and self._building[0] == version:  # started while there were other clients
            self._building[1].wait()
            self._end_building(version)
            return self._kept[version]
        made = make_map(name, text, self._seed, is_proved=self._library.is_own(name))
        self._keep(version, made)
        return made

    def _build_in_child(self, version: str, name: str, text: str) -> LoadedMap:
        """Build the map in a child process; raises StillBuilding until it is done."""
        self._raise_if_building()
        if not self._end_building(version):
            build = Build(name, text, self._seed, math.inf, UNBOUNDED)
            raise StillBuilding(self._begin_building(version, build))
        return self._kept[version]

    def _known(self, version: str) -> LoadedMap | None:
        """The map if it was built before (in memory or in the cache), else None."""
        if version in self._kept:
            self._kept.move_to_end(version)
            return self._kept[version]
        loaded = self._cache.load(self._key(version))
        if not isinstance(loaded, LoadedMap):
            return None
        self._remember(version, loaded)
        return loaded

    def _keep(self, version: str, loaded: LoadedMap) -> None:
        self._cache.store(self._key(version), loaded)
        self._remember(version, loaded)

    def _remember(self, version: str, loaded: LoadedMap) -> None:
        self._kept[version] = loaded
        if len(self._kept) > _KEPT_MAPS:
            self._kept.popitem(last=False)

    def _key(self, version: str) -> str:
        return f"{CODE_DIGEST} {self._seed} {version}"
