"""Compiled loops that make the rows of `sprites`: lights, shade under bodies, and spray.

`views` is a camera as an array (1,) of `frame.VIEW`. Each function appends rows after the first `n` of `out` and
returns the new number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.render.frame import VIEW, View

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
Views = NDArray[np.void]
WIDTH = 16
ROUND, BOX, GLARE = 0.0, 1.0, 2.0
FLAT_BIAS = 0.006
SHADE_RANGE_M = 60.0
LIGHT_RANGE_M = 260.0
LAMP_ABOVE_GROUND_M = 7.4
LAMP_COLOUR = (1.0, 0.80, 0.52)
BEAM_COLOUR = (1.0, 0.95, 0.85)
TAIL_COLOUR = (1.0, 0.10, 0.05)
BLACK = (0.0, 0.0, 0.0)
SPRAY_FROM_MPS = 5.0
SPRAY_RANGE_M = 120.0
PUFFS = 4
WET_FROM = 0.2  # wetness above which the road mirrors lights and wheels spray
NEAREST_LAMPS = 8  # lit per surface in shading.glsl; equals frame.MAX_LAMPS
NEAREST_BEAMS = 5  # likewise; equals frame.MAX_BEAMS
NARROW_M = 0.5  # half width below which a vehicle counts as a two-wheeler
POSITION, HEADLAMPS, BRAKE = 7, 6, 8  # bits of LightState: position or headlamps, headlamps, brake
ROWS_OF_ACTOR = 14
ROWS_OF_LAMP = 3
_ANY_FAR = 1e30
Triple = tuple[float, float, float]


class Air(NamedTuple):
    """What the weather does to lights: night, 0 to 1; fogginess; rain; wetness; haze and fog density, 1/m."""

    night: float
    fogginess: float
    rain: float
    wetness: float
    haze_1pm: float
    density_1pm: float


class Bodies(NamedTuple):
    """Actors of a tick: poses (n, 4, 4), half sizes (n, 3), bounding spheres; the rest (n,)."""

    poses: F64
    half: F64
    centre: F64
    radius: F64
    lights: I64
    speed_mps: F64
    seeds: F64
    is_vehicle: Flags


class _Sprite(NamedTuple):
    """One row, see `sprites.py`."""

    at: Triple
    bias: float
    along: Triple
    strength: float
    across: Triple
    cover: float
    colour: Triple
    form: float


@inner
def _put(out: F32, n: int, sprite: _Sprite) -> int:
    row = out[n]
    for i in range(3):
        row[i], row[4 + i], row[8 + i] = sprite.at[i], sprite.along[i], sprite.across[i]
        row[12 + i] = sprite.colour[i]
    row[3], row[7], row[11], row[15] = sprite.bias, sprite.strength, sprite.cover, sprite.form
    return n + 1


@inner
def _sees(view: View, x: float, y: float, z: float, radius: float, far_m: float) -> bool:
    """Same as visibility.in_view; copied because a kernel may call functions of its own file only (compiled.py)."""
    forward, right, up = view.forward, view.right, view.up
    depth = x * forward[0] + y * forward[1] + z * forward[2]
    if depth <= -radius or depth >= min(far_m, view.far_m) + radius:
        return False
    if abs(x * right[0] + y * right[1] + z * right[2]) - depth * view.tan_x > radius * view.wide:
        return False
    return bool(abs(x * up[0] + y * up[1] + z * up[2]) - depth * view.tan_y <= radius * view.tall)


@inner
def _length(x: float, y: float, z: float) -> float:
    return math.sqrt(x * x + y * y + z * z)


@inner
def _through(air: Air, distance: float) -> float:
    """Fraction of light transmitted by the air."""
    return math.exp(-(air.haze_1pm + 0.6 * air.density_1pm) * distance)


@inner
def _scaled(axis: F64, share: float) -> Triple:
    return (axis[0] * share, axis[1] * share, axis[2] * share)


@inner
def _axis(pose: F64, column: int, share: float) -> Triple:
    return (pose[0, column] * share, pose[1, column] * share, pose[2, column] * share)


@inner
def _halo(out: F32, n: int, view: View, at: Triple, size_m: float, strength: float, colour: Triple) -> int:
    bias = min(0.4 / max(_length(at[0], at[1], at[2]), 0.5), 0.3)
    along, across = _scaled(view.right, size_m), _scaled(view.up, size_m)
    return _put(out, n, _Sprite(at, bias, along, strength, across, 0.0, colour, GLARE))


@inner
def _streak(out: F32, n: int, at: Triple, above_m: float, strength: float, colour: Triple) -> int:
    """The long reflection of a light on a wet road: a flat sprite centred on the mirror point of the light."""
    ground = above_m - at[2]  # height of the camera above the ground below the light
    if ground <= 0.2:
        return n
    share = ground / (ground + max(above_m, 0.05))
    x, y = at[0] * share, at[1] * share
    distance = max(math.sqrt(x * x + y * y), 0.5)
    u, v = x / distance, y / distance
    long, wide = 0.30 * distance, 0.10 + 0.016 * distance
    at, along, across = (x, y, 0.03 - ground), (u * long, v * long, 0.0), (-v * wide, u * wide, 0.0)
    return _put(out, n, _Sprite(at, FLAT_BIAS, along, strength, across, 0.0, colour, ROUND))


@compiled
def shades(out: F32, n: int, views: Views, bodies: Bodies) -> int:
    """The dark areas under bodies, which neither sun nor sky lights."""
    view, half, centre = views[0], bodies.half, bodies.centre
    eye = view.eye
    for i in range(len(bodies.poses)):
        pose = bodies.poses[i]
        x, y, z = pose[0, 3] - eye[0], pose[1, 3] - eye[1], pose[2, 3] - eye[2]
        distance = _length(x, y, z)
        if distance >= SHADE_RANGE_M:
            continue
        cx, cy, cz = centre[i, 0] - eye[0], centre[i, 1] - eye[1], centre[i, 2] - eye[2]
        if not _sees(view, cx, cy, cz, bodies.radius[i] + 1.0, _ANY_FAR):
            continue
        grow = min(0.16, 0.12 + 0.1 * half[i, 1])
        at = (x + 0.03 * pose[0, 2], y + 0.03 * pose[1, 2], z + 0.03 * pose[2, 2])
        strength = 0.66 * math.sqrt(1.0 - distance / SHADE_RANGE_M)
        along, across = _axis(pose, 0, half[i, 0] + grow), _axis(pose, 1, half[i, 1] + grow)
        n = _put(out, n, _Sprite(at, FLAT_BIAS, along, strength, across, 1.0, BLACK, BOX))
    return n


@compiled
def street_lamps(out: F32, n: int, views: Views, air: Air, lamps: F64) -> int:
    """Light pools, halos and (when wet) streaks of `lamps` (k, 4): positions and intensities of the lit lamps."""
    view = views[0]
    eye, forward = view.eye, view.forward
    rel, ahead, seen = np.empty((len(lamps), 3)), np.empty(len(lamps)), np.zeros(len(lamps), dtype=np.bool_)
    for i in range(len(lamps)):
        x, y, z = lamps[i, 0] - eye[0], lamps[i, 1] - eye[1], lamps[i, 2] - eye[2]
        rel[i, 0], rel[i, 1], rel[i, 2] = x, y, z
        ahead[i] = _length(x - forward[0] * 15.0, y - forward[1] * 15.0, z - forward[2] * 15.0)
        seen[i] = _length(x, y, z) < LIGHT_RANGE_M and _sees(view, x, y, z, 9.0, _ANY_FAR)
    pooled = seen.copy()
    pooled[np.argsort(ahead, kind="mergesort")[:NEAREST_LAMPS]] = False
    for what in range(3 if air.wetness > WET_FROM else 2):
        for i in range(len(lamps)):
            if not (pooled[i] if what == 0 else seen[i]):
                continue
            at = (rel[i, 0], rel[i, 1], rel[i, 2])
            distance, power = _length(at[0], at[1], at[2]), min(lamps[i, 3], 2.0)
            strength = air.night * power * _through(air, distance)
            if what == 0:
                ground = (at[0], at[1], at[2] - LAMP_ABOVE_GROUND_M)
                along, across = (8.0, 0.0, 0.0), (0.0, 8.0, 0.0)
                pool = _Sprite(ground, FLAT_BIAS, along, 0.17 * strength, across, 0.0, LAMP_COLOUR, ROUND)
                n = _put(out, n, pool)
            elif what == 1:
                n = _halo(out, n, view, at, 0.45 + 0.008 * distance + 1.2 * air.fogginess, 0.85 * strength, LAMP_COLOUR)
            else:
                n = _streak(out, n, at, LAMP_ABOVE_GROUND_M, 0.34 * air.wetness * strength, LAMP_COLOUR)
    return n


@compiled
def vehicle_lights(out: F32, n: int, views: Views, air: Air, bodies: Bodies) -> int:
    """Lights of vehicles, nearest first: headlamp pools at night, halos and (when wet) streaks."""
    view, centre, total = views[0], bodies.centre, len(bodies.poses)
    eye = view.eye
    burning, away = np.empty(total, dtype=np.int64), np.empty(total)
    count = 0
    for i in range(total):
        if not bodies.is_vehicle[i] or bodies.lights[i] & (POSITION | BRAKE) == 0:
            continue
        x, y, z = centre[i, 0] - eye[0], centre[i, 1] - eye[1], centre[i, 2] - eye[2]
        distance = _length(x, y, z)
        if distance < LIGHT_RANGE_M and _sees(view, x, y, z, 12.0, _ANY_FAR):
            burning[count], away[count] = i, distance
            count += 1
    order = burning[np.argsort(away[:count], kind="mergesort")]
    if air.night > 0.0:
        n = _beam_pools(out, n, view, air, bodies, order)
    for wet in range(2 if air.wetness > WET_FROM else 1):
        for lamp in range(4):
            for i in order:
                n = _vehicle_lamp(out, n, view, air, bodies, i, lamp, wet == 1)
    return n


@inner
def _beam_pools(out: F32, n: int, view: View, air: Air, bodies: Bodies, order: I64) -> int:
    """Headlamp light on the road, for vehicles beyond the NEAREST_BEAMS whose beams light every surface."""
    heads, eye = 0, view.eye
    for i in order:
        if bodies.lights[i] & HEADLAMPS == 0:
            continue
        heads += 1
        if heads <= NEAREST_BEAMS:
            continue
        pose, ahead = bodies.poses[i], bodies.half[i, 0] + 8.0
        x = pose[0, 3] - eye[0] + pose[0, 0] * ahead + 0.03 * pose[0, 2]
        y = pose[1, 3] - eye[1] + pose[1, 0] * ahead + 0.03 * pose[1, 2]
        z = pose[2, 3] - eye[2] + pose[2, 0] * ahead + 0.03 * pose[2, 2]
        strength = 0.15 * air.night * _through(air, _length(x, y, z))
        along, across = _axis(pose, 0, 8.0), _axis(pose, 1, 2.4)
        n = _put(out, n, _Sprite((x, y, z), FLAT_BIAS, along, strength, across, 0.0, BEAM_COLOUR, ROUND))
    return n


@inner
def _vehicle_lamp(out: F32, n: int, view: View, air: Air, bodies: Bodies, i: int, lamp: int, streaks: bool) -> int:
    """Halo or streak of one lamp of body `i`: 0 front left, 1 rear left, 2 front right, 3 rear right."""
    pose, half, bits, eye = bodies.poses[i], bodies.half[i], bodies.lights[i], view.eye
    is_head = lamp % 2 == 0
    end, side = (1.0 if is_head else -1.0), (-0.72 if lamp < 2 else 0.72)
    lit = max(air.night, max(0.55 * air.fogginess, 0.35 * air.rain))  # visibility of lights against the scene
    if is_head:
        strength = 0.15 + 0.8 * lit if bits & HEADLAMPS else 0.0
    elif bits & BRAKE:
        strength = 0.75 + 0.25 * lit
    else:
        strength = 0.55 * lit if bits & POSITION else 0.0
    above = min(0.9 * half[2], 0.85)
    out_x, out_y = 0.99 * end * half[0], side * (0.0 if half[1] < NARROW_M else half[1])
    x = pose[0, 3] - eye[0] + pose[0, 2] * above + pose[0, 0] * out_x + pose[0, 1] * out_y
    y = pose[1, 3] - eye[1] + pose[1, 2] * above + pose[1, 0] * out_x + pose[1, 1] * out_y
    z = pose[2, 3] - eye[2] + pose[2, 2] * above + pose[2, 0] * out_x + pose[2, 1] * out_y
    distance = _length(x, y, z)
    facing = -end * (x * pose[0, 0] + y * pose[1, 0] + z * pose[2, 0]) / max(distance, 0.3)
    strength = strength * min(max(facing * 1.6 - 0.1, 0.0), 1.0) * _through(air, distance)
    if strength <= 0.02:
        return n
    colour = BEAM_COLOUR if is_head else TAIL_COLOUR
    if streaks:
        return _streak(out, n, (x, y, z), above, 0.45 * air.wetness * strength, colour)
    size = (1.0 if is_head else 0.55) * (0.28 + 0.012 * distance + 0.5 * air.fogginess)
    return _halo(out, n, view, (x, y, z), size, 0.9 * strength, colour)


@compiled
def spray(out: F32, n: int, views: Views, air: Air, bodies: Bodies, time_s: float, colour: F64) -> int:
    """Water spray behind the wheels of moving vehicles."""
    tone, view = (colour[0], colour[1], colour[2]), views[0]
    half, centre, speed_mps, eye = bodies.half, bodies.centre, bodies.speed_mps, view.eye
    for k in range(PUFFS):
        for i in range(len(bodies.poses)):
            if not bodies.is_vehicle[i] or speed_mps[i] <= SPRAY_FROM_MPS:
                continue
            cx, cy, cz = centre[i, 0] - eye[0], centre[i, 1] - eye[1], centre[i, 2] - eye[2]
            if not _sees(view, cx, cy, cz, bodies.radius[i] + 4.0, SPRAY_RANGE_M):
                continue
            pose, age = bodies.poses[i], (k + (2.5 * time_s + 0.37 * bodies.seeds[i]) % 1.0) / PUFFS
            back, rise = half[i, 0] - 0.3 + 3.6 * age, 0.25 + 0.9 * age
            x = pose[0, 3] - eye[0] - pose[0, 0] * back + pose[0, 2] * rise
            y = pose[1, 3] - eye[1] - pose[1, 0] * back + pose[1, 2] * rise
            z = pose[2, 3] - eye[2] - pose[2, 0] * back + pose[2, 2] * rise
            strength = 0.50 * air.wetness * min(speed_mps[i] / 22.0, 1.0) * (1.0 - age) * min(6.0 * age, 1.0)
            size = 0.35 + 0.9 * age
            along, across = _scaled(view.right, size * half[i, 1] * 1.3), _scaled(view.up, size)
            n = _put(out, n, _Sprite((x, y, z), 0.0, along, strength, across, 1.0, tone, ROUND))
    return n


def warm_up() -> None:
    """Compile these kernels for the renderer's types, or load them from disk, before a picture needs them."""
    out, views, air, none = np.zeros((1, WIDTH), np.float32), np.zeros(1, VIEW), Air(*np.zeros(6).tolist()), np.zeros(0)
    points, lights, flags = np.zeros((0, 3)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    bodies = Bodies(np.zeros((0, 4, 4)), points, points, none, lights, none, none, flags)
    shades(out, 0, views, bodies)
    street_lamps(out, 0, views, air, np.zeros((0, 4)))
    vehicle_lights(out, 0, views, air, bodies)
    spray(out, 0, views, air, bodies, 0.0, np.zeros(3))
