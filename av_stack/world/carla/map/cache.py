"""Keeps lane graphs in the user's cache folder, since reading one from CARLA takes seconds.

A graph depends only on the map's name, its OpenDRIVE text, the code that reads it, and the libraries of this code; all
of them are in the key. A new graph is also written to bytes and read back, so that a drive with a cached graph equals
a drive with a new one to the bit.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import av_core
from av_core.disk_cache import DiskCache, key_of, user_folder
from av_core.types import LaneGraph

MOST_GRAPHS = 50
"""Largest number of graphs in the cache: some 200 MB if all are of large towns."""


def kept(name: str, xodr: str, make: Callable[[], LaneGraph]) -> LaneGraph:
    """The lane graph of the map `name` with the OpenDRIVE text `xodr`: from the cache, or made by `make`."""
    graphs = DiskCache(user_folder("lane_graphs"), "pickle", "maps are read anew for each drive", MOST_GRAPHS)
    data = graphs.get(key_of([*_code(), name, xodr]), lambda: pickle.dumps(make(), protocol=5))
    graph = pickle.loads(data)  # of a file with the right checksum in a folder of the user's own
    assert isinstance(graph, LaneGraph)
    return graph


@cache
def _code() -> tuple[str | bytes, ...]:
    """The parts of the key besides the map: these source files, and the versions of the libraries."""
    folders = (Path(__file__).parent, *map(Path, av_core.__path__))
    sources = sorted(path for folder in folders for path in folder.glob("*.py"))
    return (*(path.read_bytes() for path in sources), *(version(name) for name in ("carla", "numpy", "scipy", "lxml")))
