"""What lies over the finished colour as soft quads: shade under bodies, halos and pools of lights, streaks, spray.

A row is 16 numbers: centre relative to the camera 3, how much nearer the depth test sees it (share of the distance),
half axis 3, strength, other half axis 3, cover (1 covers, 0 adds light), display colour 3, form (shaders/sprite_*).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actors import ActorSet
from embedded_carla.render.atmosphere import Atmosphere, displayed
from embedded_carla.render.frame import MAX_BEAMS, MAX_LAMPS, Camera
from embedded_carla.render.programs import Programs
from embedded_carla.types import LightState

F64 = NDArray[np.float64]
WIDTH = 16
Colours: TypeAlias = "F64 | tuple[float, float, float]"
ROUND, BOX, GLARE = 0.0, 1.0, 2.0
FLAT_BIAS = 0.006
SHADE_RANGE_M = 60.0
LIGHT_RANGE_M = 260.0
LAMP_ABOVE_GROUND_M = 7.4
LAMP_COLOUR = (1.0, 0.80, 0.52)
BEAM_COLOUR = (1.0, 0.95, 0.85)
TAIL_COLOUR = (1.0, 0.10, 0.05)
SPRAY_FROM_MPS = 5.0
PUFFS = 4
LAMPS = ((1.0, -0.72), (-1.0, -0.72), (1.0, 0.72), (-1.0, 0.72))  # 1 front, -1 rear; -1 to 1 across
NARROW_M = 0.5  # half width below which a vehicle has two wheels


def _rows(centre: F64, bias: F64 | float, along: F64, strength: F64, across: F64, cover: float, colour: F64,
          form: float) -> F64:  # fmt: skip
    out = np.empty((len(centre), WIDTH))
    out[:, 0:3], out[:, 3] = centre, bias
    out[:, 4:7], out[:, 7] = along, strength
    out[:, 8:11], out[:, 11] = across, cover
    out[:, 12:15], out[:, 15] = colour, form
    return out


def _length(vectors: F64) -> F64:
    """The lengths of vectors along the last axis."""
    return np.asarray(np.sqrt(np.einsum("...i,...i->...", vectors, vectors)))


def sprites(camera: Camera, air: Atmosphere, scene: ActorSet, lamps: F64, time_s: float) -> F64:
    """(n, 16) rows, in the order in which they are drawn. `lamps` (k, 4): places that shine now, and their power."""
    lit = max(air.night, 0.55 * air.fogginess, 0.35 * air.rain)  # how much lights stand out
    parts = [_shade(camera, scene)]
    if air.night > 0.0:
        parts += _lamps(camera, air, lamps)
    parts += _vehicle_lights(camera, air, scene, lit)
    if air.wetness > 0.2:
        parts.append(_spray(camera, air, scene, time_s))
    return np.concatenate(parts)


def _shade(camera: Camera, scene: ActorSet) -> F64:
    """The dark place under a body, which neither sun nor sky reaches."""
    rel = scene.poses[:, :3, 3] - camera.eye
    distance = _length(rel)
    near = np.flatnonzero((distance < SHADE_RANGE_M) & camera.sees(scene.centre, scene.radius + 1.0))
    half, poses = scene.half[near], scene.poses[near]
    strength = 0.66 * (1.0 - distance[near] / SHADE_RANGE_M) ** 0.5
    grow = np.minimum(0.16, 0.12 + 0.1 * half[:, 1:2])
    return _rows(
        rel[near] + 0.03 * poses[:, :3, 2], FLAT_BIAS, poses[:, :3, 0] * (half[:, 0:1] + grow), strength,
        poses[:, :3, 1] * (half[:, 1:2] + grow), 1.0, np.zeros(3), BOX,
    )  # fmt: skip


def _halos(camera: Camera, rel: F64, size_m: F64, strength: F64, colour: Colours) -> F64:
    distance = _length(rel)
    bias = np.minimum(0.4 / np.maximum(distance, 0.5), 0.3)
    size = size_m[:, None]
    return _rows(rel, bias, camera.right * size, strength, camera.up * size, 0.0, np.array(colour), GLARE)


def _streaks(camera: Camera, rel: F64, above_m: F64, strength: F64, colour: Colours) -> F64:
    """The long reflections of lights on a wet road: flat, around the place where a mirror would show the light."""
    ground = above_m - rel[:, 2]  # how far the camera is above the ground under each light
    seen = ground > 0.2
    rel, above, ground, strength = rel[seen], above_m[seen], ground[seen], strength[seen]
    colour = colour[seen] if isinstance(colour, np.ndarray) else colour
    at = rel[:, :2] * (ground / (ground + np.maximum(above, 0.05)))[:, None]
    distance = np.maximum(_length(at), 0.5)
    along = np.column_stack([at / distance[:, None], np.zeros(len(at))])
    across = np.column_stack([-along[:, 1], along[:, 0], along[:, 2]])
    return _rows(
        np.column_stack([at, 0.03 - ground]), FLAT_BIAS, along * (0.30 * distance)[:, None], strength,
        across * (0.10 + 0.016 * distance)[:, None], 0.0, np.array(colour), ROUND,
    )  # fmt: skip


def _through(air: Atmosphere, distance: F64) -> F64:
    return np.asarray(np.exp(-(air.haze_density + 0.6 * air.fog_density) * distance))


def _lamps(camera: Camera, air: Atmosphere, lamps: F64) -> list[F64]:
    rel, power = lamps[:, :3] - camera.eye, np.minimum(lamps[:, 3], 2.0)
    distance = _length(rel)
    rank = np.argsort(np.argsort(np.linalg.norm(rel - camera.forward * 15.0, axis=1), kind="stable"), kind="stable")
    seen = (distance < LIGHT_RANGE_M) & camera.sees(lamps[:, :3], 9.0)
    pooled = seen & (rank >= MAX_LAMPS)  # the nearest ones light every surface (shading.glsl)
    rel_p, strength = rel[pooled], air.night * (power * _through(air, distance))[pooled]
    ground = rel_p - np.array([0.0, 0.0, LAMP_ABOVE_GROUND_M])
    n = len(ground)
    pools = _rows(
        ground, FLAT_BIAS, np.tile((8.0, 0.0, 0.0), (n, 1)), 0.17 * strength, np.tile((0.0, 8.0, 0.0), (n, 1)), 0.0,
        np.array(LAMP_COLOUR), ROUND,
    )  # fmt: skip
    rel, distance = rel[seen], distance[seen]
    strength = air.night * power[seen] * _through(air, distance)
    size = 0.45 + 0.008 * distance + 1.2 * air.fogginess
    parts = [pools, _halos(camera, rel, size, 0.85 * strength, LAMP_COLOUR)]
    if air.wetness > 0.2:
        above = np.full(len(rel), LAMP_ABOVE_GROUND_M)
        parts.append(_streaks(camera, rel, above, 0.34 * air.wetness * strength, LAMP_COLOUR))
    return parts


def _vehicle_lights(camera: Camera, air: Atmosphere, scene: ActorSet, lit: float) -> list[F64]:
    rel_all = scene.centre - camera.eye
    distance_all = _length(rel_all)
    bits = np.where(scene.is_vehicle, scene.lights, 0)
    burning = np.flatnonzero((bits & 15 > 0) & (distance_all < LIGHT_RANGE_M) & camera.sees(scene.centre, 12.0))
    if not len(burning):
        return []
    order = burning[np.argsort(distance_all[burning], kind="stable")]
    bits, half, poses = bits[order], scene.half[order], scene.poses[order]
    parts: list[F64] = []
    head = (bits & (LightState.LOW_BEAM | LightState.HIGH_BEAM)) > 0
    if air.night > 0.0:
        parts.append(_beam_pools(camera, air, poses[head][MAX_BEAMS:], half[head][MAX_BEAMS:]))
    tail = np.where(bits & LightState.BRAKE, 0.75 + 0.25 * lit, np.where(bits & 7, 0.55 * lit, 0.0))
    front = np.where(head, 0.15 + 0.8 * lit, 0.0)
    return parts + _lamps_of_vehicles(camera, air, poses, half, np.stack([front, tail, front, tail]))


def _lamps_of_vehicles(camera: Camera, air: Atmosphere, poses: F64, half: F64, strength: F64) -> list[F64]:
    """Halos and, in the wet, streaks of LAMPS of n vehicles; `strength` (4, n)."""
    above = np.minimum(0.9 * half[:, 2], 0.85)
    rel = poses[:, :3, 3] - camera.eye + poses[:, :3, 2] * above[:, None]
    across = np.where(half[:, 1] < NARROW_M, 0.0, half[:, 1])  # two-wheelers have one lamp at each end
    places = np.empty((4, len(poses), 3))
    for k, (end, side) in enumerate(LAMPS):
        places[k] = rel + poses[:, :3, 0] * (0.99 * end * half[:, :1]) + poses[:, :3, 1] * (side * across)[:, None]
    ends = np.array([end for end, _ in LAMPS])[:, None]
    distance = _length(places)
    facing = -ends * np.einsum("knj,nj->kn", places, poses[:, :3, 0]) / np.maximum(distance, 0.3)
    strength = strength * np.clip(facing * 1.6 - 0.1, 0.0, 1.0) * _through(air, distance)
    lamp, car = np.nonzero(strength > 0.02)
    if not len(lamp):
        return []
    rel, above, strength, distance = places[lamp, car], above[car], strength[lamp, car], distance[lamp, car]
    is_head = ends[lamp, 0] > 0.0
    colour = np.where(is_head[:, None], BEAM_COLOUR, TAIL_COLOUR)
    size = np.where(is_head, 1.0, 0.55) * (0.28 + 0.012 * distance + 0.5 * air.fogginess)
    parts = [_halos(camera, rel, size, 0.9 * strength, colour)]
    if air.wetness > 0.2:
        parts.append(_streaks(camera, rel, above, 0.45 * air.wetness * strength, colour))
    return parts


def _beam_pools(camera: Camera, air: Atmosphere, poses: F64, half: F64) -> F64:
    """The light of headlamps on the road, for the vehicles whose beams do not light every surface."""
    ahead = half[:, 0:1] + 8.0
    rel = poses[:, :3, 3] - camera.eye + poses[:, :3, 0] * ahead + 0.03 * poses[:, :3, 2]
    strength = 0.15 * air.night * _through(air, _length(rel))
    return _rows(
        rel, FLAT_BIAS, poses[:, :3, 0] * 8.0, strength, poses[:, :3, 1] * 2.4, 0.0, np.array(BEAM_COLOUR), ROUND
    )


def _spray(camera: Camera, air: Atmosphere, scene: ActorSet, time_s: float) -> F64:
    """Water that wheels throw up behind moving vehicles."""
    speed = np.where(scene.is_vehicle, scene.speed_mps, 0.0)
    chosen = np.flatnonzero((speed > SPRAY_FROM_MPS) & camera.sees(scene.centre, scene.radius + 4.0, 120.0))
    colour = displayed(0.85 * air.fog_colour + 0.15 * air.sky_ambient, air.exposure)
    parts = [np.zeros((0, WIDTH))]
    for k in range(PUFFS):
        age = (k + np.mod(2.5 * time_s + 0.37 * scene.seeds[chosen], 1.0)) / PUFFS
        poses, half = scene.poses[chosen], scene.half[chosen]
        back, rise = half[:, 0] - 0.3 + 3.6 * age, 0.25 + 0.9 * age
        rel = poses[:, :3, 3] - camera.eye - poses[:, :3, 0] * back[:, None] + poses[:, :3, 2] * rise[:, None]
        strength = 0.50 * air.wetness * np.minimum(speed[chosen] / 22.0, 1.0) * (1.0 - age) * np.minimum(6.0 * age, 1.0)
        size = (0.35 + 0.9 * age)[:, None]
        parts.append(_rows(rel, 0.0, camera.right * size * half[:, 1:2] * 1.3, strength, camera.up * size, 1.0, colour,
                           ROUND))  # fmt: skip
    return np.concatenate(parts)


class SpriteDrawer:
    """Blends rows of `sprites` over the colour picture."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._capacity = 0
        self._buffer: Any = None
        self._array: Any = None

    def draw(self, programs: Programs, rows: F64) -> None:
        """Draw into the framebuffer in use, behind what is nearer; its depth stays as it is."""
        if not len(rows):
            return
        if len(rows) > self._capacity:
            self._grow(programs, 2 * len(rows))
        ctx = self._ctx
        self._buffer.write(np.ascontiguousarray(rows, dtype=np.float32))
        ctx.enable(ctx.BLEND)
        ctx.blend_func = (ctx.ONE, ctx.ONE_MINUS_SRC_ALPHA, ctx.ZERO, ctx.ONE)
        self._array.render(ctx.TRIANGLE_STRIP, vertices=4, instances=len(rows))
        ctx.disable(ctx.BLEND)

    def _grow(self, programs: Programs, rows: int) -> None:
        self.release()
        self._capacity = rows
        self._buffer = self._ctx.buffer(reserve=rows * WIDTH * 4, dynamic=True)
        program = programs.get("sprite", "sprite", ("OUT_RGB", "LOC_RGB 0"))
        content = [(self._buffer, "4f 4f 4f 4f/i", "centre", "along", "across", "paint")]
        self._array = self._ctx.vertex_array(program, content)

    def release(self) -> None:
        for thing in (self._array, self._buffer):
            if thing is not None:
                thing.release()
        self._capacity, self._buffer, self._array = 0, None, None
