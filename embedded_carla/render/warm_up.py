"""Compiles the shaders that first pictures need, before a client waits for them.

A software GL compiles each shader program to machine code, which takes seconds for one set of outputs, and caches the
code on disk. So it is enough to draw once per machine, in a helper process. Dry days are drawn before the server
listens. Dusk, night and water take a minute or two; a low-priority process draws them beside the server, using only
processor time that no other process wants.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embedded_carla.log import log
from embedded_carla.maps.cache import default_folder
from embedded_carla.parent import end_with_parent
from embedded_carla.render.context import RenderError
from embedded_carla.render.passes import ground
from embedded_carla.render.programs import SHADERS
from embedded_carla.render.renderer import Renderer
from embedded_carla.scene import ActorView, Boxes, CameraView, GroundHit, Mesh, Placement, Scenery
from embedded_carla.types import SemanticTag, Transform, WeatherParameters

OUTPUTS = ((True, False, False), (False, True, False), (False, False, True), (False, True, True), (True, True, True))
"""Sets of outputs (colour, depth, labels) of one pass.

Single cameras, LiDARs, and cameras of several kinds with one view request these.
"""

COLOUR_OUTPUTS = ((True, False, False), (True, True, True))
"""The sets of outputs whose programs depend on light and weather."""

AGAIN = "again"
"""Argument of the second of two processes that draw the same pictures.

Mesa 25's software GL caches machine code under a hash of the program. The hash of a newly compiled program differs from
that of the same program read from the cache. So the first process fills the cache for the second, and the second adds
the entries that all later processes find.
"""

LONGEST_S = 300.0
CANNOT_DRAW = 3  # exit status: no GL on this machine
_DAY = WeatherParameters(sun_altitude_angle=45.0)
_HAZY = replace(_DAY, fog_density=2.0)  # like CARLA's presets, including `ClearNoon`
COMMON = (_DAY, _HAZY)
_WATERS: tuple[dict[str, float], ...] = (
    {},
    {"wetness": 50.0},
    {"wetness": 80.0, "precipitation_deposits": 80.0, "precipitation": 80.0},
)
REST = tuple(
    weather
    for altitude_deg, fog, water in itertools.product((45.0, 2.0, -30.0), (0.0, 2.0), _WATERS)
    if (weather := replace(_DAY, sun_altitude_angle=altitude_deg, fog_density=fog, **water)) not in COMMON
)
"""Together with COMMON: every kind of light and weather that has its own shader programs."""

_MATERIAL_M = 4.0  # side of each material's square


class _Floor:
    def below(self, points: NDArray[np.float64]) -> GroundHit:
        n = len(points)
        return GroundHit(np.zeros(n), np.tile((0.0, 0.0, 1.0), (n, 1)), np.ones(n, np.uint8), np.zeros(n, np.int32))


def scenery() -> Scenery:
    """A scenery with one object for each shader program, in front of a camera at the origin that looks along x.

    The building occludes none of the other objects.
    """
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=np.float32) * _MATERIAL_M
    up, faces = np.tile(np.array((0.0, 0.0, 1.0), np.float32), (4, 1)), np.array([(0, 1, 2), (0, 2, 3)], np.uint32)
    meshes = []
    for k, (material, shading) in enumerate(ground.SHADINGS.items()):
        at = corners + np.array((10.0 + shading.near_m + _MATERIAL_M * k, -_MATERIAL_M / 2), np.float32)
        points = np.column_stack([at, np.zeros(4, np.float32)])
        meshes.append(Mesh(points, up, corners, faces, material, SemanticTag.ROADS))
    things = (
        Placement("pole", Transform(20.0, -6.0), (0.2, 0.2, 3.0), SemanticTag.POLES),
        Placement("building", Transform(40.0, -25.0), (12.0, 15.0, 12.0), SemanticTag.BUILDINGS, 1),
        Placement("tree_broadleaf", Transform(20.0, 6.0), (4.0, 4.0, 7.0), SemanticTag.VEGETATION, 1),
        Placement("sign_stop", Transform(15.0, 3.0, yaw_deg=180.0), (0.1, 0.75, 2.8), SemanticTag.TRAFFIC_SIGNS),
    )
    none = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.uint8))
    numbers = np.zeros(1, dtype=np.int64)
    return Scenery("warm-up", tuple(meshes), things, none, _Floor(), numbers, np.ones(1), (), (), (), (), ())


def draw(weathers: Sequence[WeatherParameters], outputs: Sequence[tuple[bool, bool, bool]]) -> Iterator[None]:
    """Draw each of `outputs` in each weather, with the sun in view and out of view; yields after each picture.

    Raises RenderError when drawing fails.
    """
    car = ActorView(7, "sedan", Transform(12.0), (2.3, 0.95, 0.75), (0.5, 0.0, 0.0), SemanticTag.CAR)
    poses = (Transform(0.0, 0.0, 2.0, pitch_deg=20.0), Transform(0.0, 0.0, 2.0, yaw_deg=180.0))
    views = [CameraView(320, 180, 90.0, pose) for pose in poses]
    renderer = Renderer(scenery())
    try:
        for weather, (rgb, depth, labels), view in itertools.product(weathers, outputs, views):
            renderer.render(view, (car,), {}, weather, 0.0, rgb=rgb, depth=depth, labels=labels)
            yield
    finally:
        renderer.close()


def _mark(kind: str) -> Path:
    """The marker file: this code has drawn "shaders" (dry days) or "weathers" on this machine."""
    digest = hashlib.sha256()
    names = ("passes/ground", "programs", "passes/solids", "targets", "warm_up")
    own = (Path(__file__).parent / f"{name}.py" for name in names)
    for path in (*sorted(SHADERS.iterdir()), *own):
        digest.update(path.read_bytes())
    return default_folder() / f"{kind}-{digest.hexdigest()[:16]}"


def _set(mark: Path) -> None:
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in mark.parent.glob(f"{mark.name.split('-')[0]}-*"):
        old.unlink(missing_ok=True)
    mark.touch()


def warm_up() -> None:
    """Draw COMMON in a helper process, unless this code has done so before.

    When nothing can be drawn, the cameras report it.
    """
    mark = _mark("shaders")
    if mark.exists():
        return
    try:
        command = [sys.executable, "-m", __name__, "common", str(os.getpid())]
        child = subprocess.run(command, timeout=LONGEST_S, check=False, stdin=subprocess.DEVNULL)
        if child.returncode == 0:
            _set(mark)
        elif child.returncode != CANNOT_DRAW:
            log(f"drawing fails with status {child.returncode}: cameras may end this server")
    except (OSError, subprocess.SubprocessError) as error:
        log(f"shaders are compiled with the first picture: {error}")


@contextmanager
def rest_beside() -> Iterator[None]:
    """While the context is open, a lowest-priority process draws REST, unless this code has done so before.

    The process is killed when the context ends.
    """
    if _mark("weathers").exists():
        yield
        return
    command = [sys.executable, "-m", __name__, "rest", str(os.getpid())]
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        log(f"shaders for other weather are compiled with its first picture: {error}")
        yield
        return
    try:
        yield
    finally:
        child.kill()  # no wait: on a busy machine a lowest-priority process takes seconds to end


def _step_back() -> None:
    """Take the lowest priority, also against processes of other Linux sessions.

    With autogroup, Linux divides processor time between sessions first.
    """
    os.nice(19)
    session = Path("/proc/self/autogroup")
    if session.exists():
        with suppress(OSError):  # if the kernel forbids it, `nice` still applies
            session.write_text("19")


def _draw_rest(is_again: bool) -> bool:
    """Draw REST, in only one of several processes at a time. Returns whether all of it was drawn."""
    _step_back()
    mark = _mark("weathers")
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (mark.parent / "weathers.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        for _ in draw(REST, COLOUR_OUTPUTS):
            pass
        if is_again:
            _set(mark)
    return True


def main(arguments: list[str]) -> None:
    """Draw COMMON ("common") or REST ("rest") in this process, then once more in a new process image.

    An optional further argument is the id of the process with which this one must end.
    """
    is_again = AGAIN in arguments
    kind, *parents = [argument for argument in arguments if argument != AGAIN] or ["common"]
    is_done = True
    for parent in parents:
        end_with_parent(int(parent))
    try:
        if kind == "rest":
            is_done = _draw_rest(is_again)
        else:
            for _ in draw(COMMON, OUTPUTS):
                pass
    except (RenderError, OSError):
        sys.exit(CANNOT_DRAW)
    if is_done and not is_again:
        os.execv(sys.executable, [sys.executable, "-m", "embedded_carla.render.warm_up", kind, *parents, AGAIN])


if __name__ == "__main__":
    main(sys.argv[1:])
