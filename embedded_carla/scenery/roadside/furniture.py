"""Street lamps, the poles and faces of lights and signs, and guard rails on bridges and fast roads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from embedded_carla.scene import F64, Placement, SignalSite
from embedded_carla.scenery.ground import SceneryGround
from embedded_carla.scenery.roadside.room import Frontage, Room
from embedded_carla.scenery.surfaces import Strip, strips_beside
from embedded_carla.types import SemanticTag, Transform

LAMP_SPACING_M = 30.0
LAMP_HEIGHT_M = 7.5
LAMP_ARMS_M = (2.4, 1.6, 0.9)  # lengths of a lamp's arm; the longest that keeps clear of the lanes is used
BEHIND_PAVEMENT_M = 1.4
POLE_M = 0.14
SIGNAL_HEAD_M = (0.3, 0.52, 1.16)  # depth, width, height of a light's housing
SIGNAL_FOOT_M = 2.5  # lower edge of a light's housing, clear of walkers' heads
SIGN_FOOT_M = 2.0  # lower edge of a sign beside the road
OVERHEAD_FOOT_M = 5.0  # lower edge of a face above the carriageway
SIGN_SIZES_M = {"stop": 0.8, "yield": 0.9, "speed_limit": 0.75}
SIGN_PROTOTYPES = {"stop": "sign_stop", "yield": "sign_yield", "speed_limit": "sign_speed"}
RAIL_LENGTH_M, LONG_RAIL_M, RAIL_HEIGHT_M = 4.0, 8.0, 0.8
RAIL_BEYOND_M = (0.25, 0.6, 0.75, 1.0)  # distances from the road's edge; the smallest that keeps clear of lanes is used
RAIL_WIDTH_M = 0.16
POST_M = 0.3  # width that a lamp's arm needs clear of driving lanes
FAST_KMH = 80.0  # roads with at least this limit have rails on both sides
MOST_RAILS = 1800
ARM_MOST_M = 16.0  # maximum distance from a face to the side of the carriageway, where its mast stands
LIMIT_WIDTH_M, TALL = 0.75, 1.25  # American speed limit sign: width, height over width
DROP_M = 1.5  # an edge this high above the terrain gets a rail


def place_lamps(fronts: Iterable[Frontage], room: Room, rng: np.random.Generator) -> F64:
    """Place lamps behind the pavements, arms (+x) over them; returns the positions (n, 3) of their lights."""
    lights = []
    for k, front in enumerate(fronts):
        if not front.has_pavement:
            continue
        s = 6.0 + 0.5 * LAMP_SPACING_M * (k % 2)  # the two sides alternate
        while s < front.s[-1] - 4.0:
            point, outward = front.at(s)
            s += LAMP_SPACING_M
            base = point[:2] + outward * BEHIND_PAVEMENT_M
            z = float(point[2])
            arm_m = _lamp_arm_m(base, outward, z, room)
            if arm_m is None or not room.fits(base, outward, 0.3, 0.3, 0.0):
                continue
            room.take(base, outward, 1.0, 1.0)
            yaw = float(np.degrees(np.arctan2(-outward[1], -outward[0])))
            at = Transform(float(base[0]), float(base[1]), z - 0.2, 0.0, yaw, 0.0)
            size = (arm_m, 0.25, LAMP_HEIGHT_M + 0.2)
            room.post("street_lamp", at, size, SemanticTag.POLES, int(rng.integers(1 << 30)))
            tip = base - outward * arm_m
            lights.append([tip[0], tip[1], z + LAMP_HEIGHT_M - 0.1])
    return np.array(lights, dtype=np.float64).reshape(-1, 3)


def _lamp_arm_m(base: F64, outward: F64, z: float, room: Room) -> float | None:
    """The longest arm for a lamp at `base` (2,); None if even the shortest would be too near a driving lane."""
    for arm_m in LAMP_ARMS_M:
        end_m = 1.05 * arm_m  # the lamp's head extends slightly beyond the arm
        middle = base - outward * 0.5 * end_m
        if room.lanes.is_kept(np.array([[*middle, z]]), outward[None], end_m, POST_M)[0]:
            return arm_m
    return None


def place_signals(
    sites: Sequence[SignalSite], ground: SceneryGround, room: Room, american: frozenset[str] = frozenset()
) -> None:
    """Place a pole and a face (+x towards its traffic) for each site, where the file places it.

    If the file places a site in the middle of a carriageway, the face hangs above the traffic on an arm from the
    nearest side. Speed limits whose ids are in `american` are white rectangles.
    """
    for number, site in enumerate(sites):
        at = site.pose
        hit = ground.below(np.array([[at.x, at.y, at.z + 0.5]]))
        z = at.z if np.isnan(hit.z[0]) else float(hit.z[0])
        light = site.kind == "traffic_light"
        wide = SIGN_SIZES_M.get(site.kind, 0.0)
        limit = site.kind == "speed_limit" and site.signal_id in american
        size = SIGNAL_HEAD_M if light else (0.04, LIMIT_WIDTH_M, TALL * LIMIT_WIDTH_M) if limit else (0.04, wide, wide)
        foot = SIGNAL_FOOT_M if light else SIGN_FOOT_M
        face = _facing_deg(site)
        if _in_carriageway(at, ground):
            foot = OVERHEAD_FOOT_M
            _hang(at, face, z, foot + 0.5 * size[2], ground, room, number)
        else:
            pole = (POLE_M, POLE_M, foot + size[2])
            room.post("pole", Transform(at.x, at.y, z, 0.0, face, 0.0), pole, SemanticTag.POLES, number)
            room.take(np.array([at.x, at.y]), np.array([1.0, 0.0]), 1.5, 1.5)
        forward, out = 0.5 * (POLE_M + size[0]), np.radians(face)  # the face hangs in front of its pole
        x, y = at.x + forward * float(np.cos(out)), at.y + forward * float(np.sin(out))
        room.placements.append(
            Placement(
                "signal_head" if light else "sign_limit" if limit else SIGN_PROTOTYPES[site.kind],
                Transform(x, y, z + foot, 0.0, face, 0.0),
                size,
                SemanticTag.TRAFFIC_LIGHT if light else SemanticTag.TRAFFIC_SIGNS,
                number,
                f"{site.value:.0f}" if site.kind == "speed_limit" else "",
                site.signal_id if light else "",
            )
        )


def _hang(at: Transform, face: float, z: float, height: float, ground: SceneryGround, room: Room, seed: int) -> None:
    """Place a mast beside the carriageway with an arm to a face above it; does nothing if no side is near enough."""
    across = np.radians(face + 90.0)
    side = np.array([np.cos(across), np.sin(across)])
    reach = np.arange(2.0, ARM_MOST_M, 0.5)
    for step in sorted(np.concatenate([reach, -reach]), key=abs):
        x, y = np.array([at.x, at.y]) + float(step) * side
        hit = ground.below(np.array([[x, y, z + 0.8]]))
        if hit.tag[0] == SemanticTag.ROADS or np.isnan(hit.z[0]):
            continue
        x, y = np.array([at.x, at.y]) + float(step + 0.4 * np.sign(step)) * side
        base = float(hit.z[0])
        mast = (1.4 * POLE_M, 1.4 * POLE_M, z + height + 0.3 - base)
        room.post("pole", Transform(float(x), float(y), base, 0.0, face, 0.0), mast, SemanticTag.POLES, seed)
        room.take(np.array([x, y]), np.array([1.0, 0.0]), 1.5, 1.5)
        length = abs(float(step)) + 0.4
        yaw = face + 90.0 + (180.0 if step > 0 else 0.0)
        middle = 0.5 * (np.array([x, y]) + np.array([at.x, at.y]))
        arm = Transform(float(middle[0]), float(middle[1]), z + height - 0.5 * POLE_M, 0.0, yaw, 0.0)
        room.placements.append(Placement("mast_arm", arm, (length, POLE_M, POLE_M), SemanticTag.POLES, seed))
        return


def _in_carriageway(at: Transform, ground: SceneryGround) -> bool:
    """Whether there is asphalt all around a point."""
    around = np.array([[at.x + dx, at.y + dy, at.z + 0.5] for dx in (-1.0, 0.0, 1.0) for dy in (-1.0, 0.0, 1.0)])
    return bool(np.all(ground.below(around).tag == SemanticTag.ROADS))


def _facing_deg(site: SignalSite) -> float:
    """Yaw towards the governed traffic: from the stop zones if there are any, else from CARLA's pose."""
    if not site.stop_zones:
        return site.pose.yaw_deg - 90.0 + 180.0
    yaw = np.radians([zone.yaw_deg for zone in site.stop_zones])
    return float(np.degrees(np.arctan2(np.sin(yaw).sum(), np.cos(yaw).sum()))) + 180.0


def place_guard_rails(strips: Sequence[Strip], ground: SceneryGround, room: Room) -> None:
    """Place guard rails along outer edges, except where a road joins.

    Edges that are high above the terrain get rails, and all outer edges of fast roads outside junctions.
    """
    end = len(room.placements) + MOST_RAILS
    for strip in strips:
        beside = strips_beside(strip)
        fast = strip.grid.road.speed_kmh >= FAST_KMH and strip.grid.road.junction == -1
        for inner, edge, sign in ((beside[0], strip.left, 1.0), (beside[1], strip.right, -1.0)):
            if not inner and len(room.placements) < end:
                _rail(edge, sign * strip.grid.leftward, ground, room, fast)


def _rail(edge: F64, outward: F64, ground: SceneryGround, room: Room, everywhere: bool) -> None:
    piece = LONG_RAIL_M if everywhere else RAIL_LENGTH_M
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(edge[:, :2], axis=0), axis=1))])
    count = int(length[-1] / piece)
    if count == 0:
        return
    s = (np.arange(count) + 0.5) * piece
    at = np.stack([np.interp(s, length, edge[:, k]) for k in range(3)], axis=1)
    out = np.stack([np.interp(s, length, outward[:, k]) for k in range(2)], axis=1)
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    ahead = np.stack([-out[:, 1], out[:, 0]], axis=1)
    high = at[:, 2] - ground.terrain(at[:, :2] + 2.0 * out)[0] > DROP_M
    high |= everywhere
    if not high.any():
        return
    at, out, ahead = at[high], out[high], ahead[high]
    placed = [np.column_stack([at[:, :2] + beyond_m * out, at[:, 2]]) for beyond_m in RAIL_BEYOND_M]
    clear = [room.lanes.is_kept(place, ahead, piece, RAIL_WIDTH_M) for place in placed]
    best = int(np.argmax([np.count_nonzero(one) for one in clear]))  # one distance for all pieces, so that they align
    at, keep = placed[best], clear[best].copy()
    for side in (0.3, 1.0, 2.0):
        for along in (-0.5 * piece, 0.0, 0.5 * piece):
            probe = np.column_stack([at[:, :2] + side * out + along * ahead, at[:, 2]])
            hit = ground.below(probe)
            keep &= ~((hit.road >= 0) & (np.abs(hit.z - at[:, 2]) < DROP_M))
    for (x, y, z), (dx, dy) in zip(at[keep].tolist(), ahead[keep].tolist(), strict=True):
        yaw = float(np.degrees(np.arctan2(dy, dx)))
        pose = Transform(x, y, z, 0.0, yaw, 0.0)
        size = (piece, 0.15, RAIL_HEIGHT_M)
        room.placements.append(Placement("guard_rail", pose, size, SemanticTag.GUARD_RAIL))
        half = (0.5 * piece, 0.5 * RAIL_WIDTH_M, 0.5 * RAIL_HEIGHT_M)
        room.collide((x, y, z + half[2]), half, float(np.radians(yaw)), SemanticTag.GUARD_RAIL)
