"""A map whose text came from a client is built in a process of its own, with a bound on its time and memory.

`python -m embedded_carla.world.build_apart NAME SEED` reads the text from standard input and writes the packed map.
Senseless numbers can crash the libraries that read maps; first of all `carla.Map`, with which every client would read
the map too.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import numpy as np

from embedded_carla.errors import MapError
from embedded_carla.maps.packing import PackingError, pack, unpack

LONGEST_LOAD_S = 30.0
"""The server does nothing else meanwhile. The largest town at hand takes 5 s."""

MOST_LOAD_BYTES = 4 << 30
_REFUSED = 3


def build_apart(name: str, text: str, seed: int, seconds: float = LONGEST_LOAD_S, most: int = MOST_LOAD_BYTES) -> Any:
    """The LoadedMap. Raises MapError: it is no map, or cannot be built within `seconds` and `most` bytes."""
    command = [sys.executable, "-m", __name__, name, str(seed), str(most)]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise MapError(f"map {name}: not built within {seconds:g} s, which is all that a client's text gets") from error
    if done.returncode:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
        if done.returncode == _REFUSED:
            raise MapError(said)
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"{said:.160}"
        raise MapError(f"map {name}: its numbers make no map that can be built within {most >> 30} GiB ({how})")
    try:
        return unpack(np.frombuffer(done.stdout, dtype=np.uint8))
    except PackingError as error:
        raise MapError(f"map {name}: it could not be read back: {error}") from error


def main() -> int:
    """Status 0, or 3 with the reason in the last line of standard error."""
    name, seed, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import carla  # after the limit; the server itself need not have it in memory twice

    from embedded_carla import opendrive
    from embedded_carla.world.loader import make_map

    text = sys.stdin.buffer.read().decode()
    try:
        town = carla.Map(name, opendrive.parse(text, name).xodr_text)
        town.get_all_landmarks(), town.get_topology()  # what clients ask for first
        sys.stdout.buffer.writelines(pack(make_map(name, text, seed)))
    except MapError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
