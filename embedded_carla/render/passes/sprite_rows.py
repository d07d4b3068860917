"""Compiled loops that make the rows of `sprites`: lights, shade under bodies, and spray.

A view is the 18 numbers of `Camera.numbers`; `air` are 6: night (0 to 1), fogginess, rain, wetness, haze and fog
density 1/m. Each function appends rows after the first `n` of `out` and returns the new number.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
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
_NIGHT, _FOG, _RAIN, _WET, _HAZE, _DENSITY = 0, 1, 2, 3, 4, 5
_ANY_FAR = 1e30
Triple = tuple[float, float, float]


@inner
def _put(
    out: F32, n: int, at: Triple, bias: float, along: Triple, strength: float, across: Triple, cover: float,
    colour: Triple, form: float,
) -> int:  # fmt: skip
    row = out[n]
    for i in range(3):
        row[i], row[4 + i], row[8 + i], row[12 + i] = at[i], along[i], across[i], colour[i]
    row[3], row[7], row[11], row[15] = bias, strength, cover, form
    return n + 1


@inner
def _sees(view: F64, x: float, y: float, z: float, radius: float, far_m: float) -> bool:
    """Same as visibility.in_view; copied because a kernel may call functions of its own file only (compiled.py)."""
    depth = x * view[3] + y * view[4] + z * view[5]
    if depth <= -radius or depth >= min(far_m, view[17]) + radius:
        return False
    if abs(x * view[6] + y * view[7] + z * view[8]) - depth * view[12] > radius * view[14]:
        return False
    return bool(abs(x * view[9] + y * view[10] + z * view[11]) - depth * view[13] <= radius * view[15])


@inner
def _length(x: float, y: float, z: float) -> float:
    return math.sqrt(x * x + y * y + z * z)


@inner
def _through(air: F64, distance: float) -> float:
    """Fraction of light transmitted by the air."""
    return math.exp(-(air[_HAZE] + 0.6 * air[_DENSITY]) * distance)


@inner
def _scaled(view: F64, first: int, share: float) -> Triple:
    return (view[first] * share, view[first + 1] * share, view[first + 2] * share)


@inner
def _axis(pose: F64, column: int, share: float) -> Triple:
    return (pose[0, column] * share, pose[1, column] * share, pose[2, column] * share)


@inner
def _halo(out: F32, n: int, view: F64, at: Triple, size_m: float, strength: float, colour: Triple) -> int:
    bias = min(0.4 / max(_length(at[0], at[1], at[2]), 0.5), 0.3)
    return _put(out, n, at, bias, _scaled(view, 6, size_m), strength, _scaled(view, 9, size_m), 0.0, colour, GLARE)


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
    return _put(
        out, n, (x, y, 0.03 - ground), FLAT_BIAS, (u * long, v * long, 0.0), strength, (-v * wide, u * wide, 0.0), 0.0,
        colour, ROUND,
    )  # fmt: skip


@compiled
def shades(out: F32, n: int, view: F64, poses: F64, half: F64, radius: F64, centre: F64) -> int:
    """The dark areas under bodies, which neither sun nor sky lights."""
    for i in range(len(poses)):
        pose = poses[i]
        x, y, z = pose[0, 3] - view[0], pose[1, 3] - view[1], pose[2, 3] - view[2]
        distance = _length(x, y, z)
        if distance >= SHADE_RANGE_M:
            continue
        cx, cy, cz = centre[i, 0] - view[0], centre[i, 1] - view[1], centre[i, 2] - view[2]
        if not _sees(view, cx, cy, cz, radius[i] + 1.0, _ANY_FAR):
            continue
        grow = min(0.16, 0.12 + 0.1 * half[i, 1])
        at = (x + 0.03 * pose[0, 2], y + 0.03 * pose[1, 2], z + 0.03 * pose[2, 2])
        strength = 0.66 * math.sqrt(1.0 - distance / SHADE_RANGE_M)
        along, across = _axis(pose, 0, half[i, 0] + grow), _axis(pose, 1, half[i, 1] + grow)
        n = _put(out, n, at, FLAT_BIAS, along, strength, across, 1.0, BLACK, BOX)
    return n


@compiled
def street_lamps(out: F32, n: int, view: F64, air: F64, lamps: F64) -> int:
    """Light pools, halos and (when wet) streaks of `lamps` (k, 4): positions and intensities of the lit lamps."""
    rel, ahead, seen = np.empty((len(lamps), 3)), np.empty(len(lamps)), np.zeros(len(lamps), dtype=np.bool_)
    for i in range(len(lamps)):
        x, y, z = lamps[i, 0] - view[0], lamps[i, 1] - view[1], lamps[i, 2] - view[2]
        rel[i, 0], rel[i, 1], rel[i, 2] = x, y, z
        ahead[i] = _length(x - view[3] * 15.0, y - view[4] * 15.0, z - view[5] * 15.0)
        seen[i] = _length(x, y, z) < LIGHT_RANGE_M and _sees(view, x, y, z, 9.0, _ANY_FAR)
    pooled = seen.copy()
    pooled[np.argsort(ahead, kind="mergesort")[:NEAREST_LAMPS]] = False
    for what in range(3 if air[_WET] > WET_FROM else 2):
        for i in range(len(lamps)):
            if not (pooled[i] if what == 0 else seen[i]):
                continue
            at = (rel[i, 0], rel[i, 1], rel[i, 2])
            distance, power = _length(at[0], at[1], at[2]), min(lamps[i, 3], 2.0)
            strength = air[_NIGHT] * power * _through(air, distance)
            if what == 0:
                ground = (at[0], at[1], at[2] - LAMP_ABOVE_GROUND_M)
                n = _put(out, n, ground, FLAT_BIAS, (8.0, 0.0, 0.0), 0.17 * strength, (0.0, 8.0, 0.0), 0.0,
                         LAMP_COLOUR, ROUND)  # fmt: skip
            elif what == 1:
                n = _halo(out, n, view, at, 0.45 + 0.008 * distance + 1.2 * air[_FOG], 0.85 * strength, LAMP_COLOUR)
            else:
                n = _streak(out, n, at, LAMP_ABOVE_GROUND_M, 0.34 * air[_WET] * strength, LAMP_COLOUR)
    return n


@compiled
def vehicle_lights(
    out: F32, n: int, view: F64, air: F64, poses: F64, half: F64, centre: F64, lights: I64, is_vehicle: Flags
) -> int:
    """Lights of vehicles, nearest first: headlamp pools at night, halos and (when wet) streaks."""
    burning, away = np.empty(len(poses), dtype=np.int64), np.empty(len(poses))
    count = 0
    for i in range(len(poses)):
        if not is_vehicle[i] or lights[i] & (POSITION | BRAKE) == 0:
            continue
        x, y, z = centre[i, 0] - view[0], centre[i, 1] - view[1], centre[i, 2] - view[2]
        distance = _length(x, y, z)
        if distance < LIGHT_RANGE_M and _sees(view, x, y, z, 12.0, _ANY_FAR):
            burning[count], away[count] = i, distance
            count += 1
    order = burning[np.argsort(away[:count], kind="mergesort")]
    if air[_NIGHT] > 0.0:
        n = _beam_pools(out, n, view, air, poses, half, lights, order)
    for wet in range(2 if air[_WET] > WET_FROM else 1):
        for lamp in range(4):
            for i in order:
                n = _vehicle_lamp(out, n, view, air, poses[i], half[i], lights[i], lamp, wet == 1)
    return n


@inner
def _beam_pools(out: F32, n: int, view: F64, air: F64, poses: F64, half: F64, lights: I64, order: I64) -> int:
    """Headlamp light on the road, for vehicles beyond the NEAREST_BEAMS whose beams light every surface."""
    heads = 0
    for i in order:
        if lights[i] & HEADLAMPS == 0:
            continue
        heads += 1
        if heads <= NEAREST_BEAMS:
            continue
        pose, ahead = poses[i], half[i, 0] + 8.0
        x = pose[0, 3] - view[0] + pose[0, 0] * ahead + 0.03 * pose[0, 2]
        y = pose[1, 3] - view[1] + pose[1, 0] * ahead + 0.03 * pose[1, 2]
        z = pose[2, 3] - view[2] + pose[2, 0] * ahead + 0.03 * pose[2, 2]
        strength = 0.15 * air[_NIGHT] * _through(air, _length(x, y, z))
        n = _put(out, n, (x, y, z), FLAT_BIAS, _axis(pose, 0, 8.0), strength, _axis(pose, 1, 2.4), 0.0, BEAM_COLOUR,
                 ROUND)  # fmt: skip
    return n


@inner
def _vehicle_lamp(
    out: F32, n: int, view: F64, air: F64, pose: F64, half: F64, bits: int, lamp: int, streaks: bool
) -> int:
    """Halo or streak of one lamp of a vehicle: 0 front left, 1 rear left, 2 front right, 3 rear right."""
    is_head = lamp % 2 == 0
    end, side = (1.0 if is_head else -1.0), (-0.72 if lamp < 2 else 0.72)
    lit = max(air[_NIGHT], max(0.55 * air[_FOG], 0.35 * air[_RAIN]))  # visibility of lights against the scene
    if is_head:
        strength = 0.15 + 0.8 * lit if bits & HEADLAMPS else 0.0
    elif bits & BRAKE:
        strength = 0.75 + 0.25 * lit
    else:
        strength = 0.55 * lit if bits & POSITION else 0.0
    above = min(0.9 * half[2], 0.85)
    out_x, out_y = 0.99 * end * half[0], side * (0.0 if half[1] < NARROW_M else half[1])
    x = pose[0, 3] - view[0] + pose[0, 2] * above + pose[0, 0] * out_x + pose[0, 1] * out_y
    y = pose[1, 3] - view[1] + pose[1, 2] * above + pose[1, 0] * out_x + pose[1, 1] * out_y
    z = pose[2, 3] - view[2] + pose[2, 2] * above + pose[2, 0] * out_x + pose[2, 1] * out_y
    distance = _length(x, y, z)
    facing = -end * (x * pose[0, 0] + y * pose[1, 0] + z * pose[2, 0]) / max(distance, 0.3)
    strength = strength * min(max(facing * 1.6 - 0.1, 0.0), 1.0) * _through(air, distance)
    if strength <= 0.02:
        return n
    colour = BEAM_COLOUR if is_head else TAIL_COLOUR
    if streaks:
        return _streak(out, n, (x, y, z), above, 0.45 * air[_WET] * strength, colour)
    size = (1.0 if is_head else 0.55) * (0.28 + 0.012 * distance + 0.5 * air[_FOG])
    return _halo(out, n, view, (x, y, z), size, 0.9 * strength, colour)


@compiled
def spray(
    out: F32, n: int, view: F64, air: F64, poses: F64, half: F64, radius: F64, centre: F64, speed_mps: F64, seeds: F64,
    is_vehicle: Flags, time_s: float, colour: F64,
) -> int:  # fmt: skip
    """Water spray behind the wheels of moving vehicles."""
    tone = (colour[0], colour[1], colour[2])
    for k in range(PUFFS):
        for i in range(len(poses)):
            if not is_vehicle[i] or speed_mps[i] <= SPRAY_FROM_MPS:
                continue
            cx, cy, cz = centre[i, 0] - view[0], centre[i, 1] - view[1], centre[i, 2] - view[2]
            if not _sees(view, cx, cy, cz, radius[i] + 4.0, SPRAY_RANGE_M):
                continue
            pose, age = poses[i], (k + (2.5 * time_s + 0.37 * seeds[i]) % 1.0) / PUFFS
            back, rise = half[i, 0] - 0.3 + 3.6 * age, 0.25 + 0.9 * age
            x = pose[0, 3] - view[0] - pose[0, 0] * back + pose[0, 2] * rise
            y = pose[1, 3] - view[1] - pose[1, 0] * back + pose[1, 2] * rise
            z = pose[2, 3] - view[2] - pose[2, 0] * back + pose[2, 2] * rise
            strength = 0.50 * air[_WET] * min(speed_mps[i] / 22.0, 1.0) * (1.0 - age) * min(6.0 * age, 1.0)
            size = 0.35 + 0.9 * age
            n = _put(out, n, (x, y, z), 0.0, _scaled(view, 6, size * half[i, 1] * 1.3), strength,
                     _scaled(view, 9, size), 1.0, tone, ROUND)  # fmt: skip
    return n


def warm_up() -> None:
    """Compile these kernels for the renderer's types, or load them from disk, before a picture needs them."""
    out, view, air, none = np.zeros((1, WIDTH), np.float32), np.zeros(18), np.zeros(6), np.zeros(0)
    poses, points, flags = np.zeros((0, 4, 4)), np.zeros((0, 3)), np.zeros(0, dtype=np.bool_)
    shades(out, 0, view, poses, points, none, points)
    street_lamps(out, 0, view, air, np.zeros((0, 4)))
    vehicle_lights(out, 0, view, air, poses, points, points, np.zeros(0, dtype=np.int64), flags)
    spray(out, 0, view, air, poses, points, none, points, none, none, flags, 0.0, np.zeros(3))
