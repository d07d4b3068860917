"""Data shared between the map, the world, the sensors and the renderer: scenery, actors, cameras, debug shapes.

Everything is in CARLA's world frame (left-handed, metres). Static scenery is made once per map; actors come as a list
of views each tick.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import BoundingBox, SemanticTag, Transform, Vector3

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
U32 = NDArray[np.uint32]
MOST_INSTANCES = 0x7FFF
"""Largest instance number of an actor in a label picture; numbers start at 1, and the scenery's lie above this one."""


class Material(IntEnum):
    """Surface material; the number is the one that the shaders use."""

    ASPHALT = 0
    MARKING_WHITE = 1
    MARKING_YELLOW = 2
    KERB = 3
    PAVEMENT = 4
    GRASS = 5
    CONCRETE = 6
    CROSSWALK = 7
    FACADE = 8
    METAL = 9
    FOLIAGE = 10
    BARK = 11
    SOIL = 12
    ASPHALT_PLAIN = 13  # asphalt without wheel tracks
    HILL = 14  # terrain beyond the map
    GRASS_FAR = 15  # coarse, slightly lower version of GRASS for distant cameras


@dataclass(frozen=True, slots=True)
class Mesh:
    """A static triangle mesh in world coordinates.

    `vertices` (N, 3), `normals` (N, 3), `uv` (N, 2) in metres along and across the surface (for procedural texture),
    `triangles` (M, 3). The front of a face is the side that its `normals` point to; the renderer does not cull by
    winding.
    """

    vertices: F32
    normals: F32
    uv: F32
    triangles: U32
    material: Material
    tag: SemanticTag


@dataclass(frozen=True, slots=True)
class Placement:
    """One instance of a prototype that the renderer knows by name.

    `size_m` is (length along x, width along y, height). The prototype is a unit shape that stands on z = 0 and is
    scaled to this size. `seed` varies colour and detail.

    Prototypes: "building", "house", "tree_broadleaf", "tree_conifer", "bush", "street_lamp", "pole", "mast_arm",
    "signal_head", "sign_stop", "sign_yield", "sign_speed" (round), "sign_limit" (American), "guard_rail", "bench",
    "wall", "fence", and "prop bench" and other props (prototypes.py). `text` is the text on a sign ("50"). `signal_id`
    links a signal head to its light.
    """

    prototype: str
    transform: Transform
    size_m: Vector3
    tag: SemanticTag
    seed: int = 0
    text: str = ""
    signal_id: str = ""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Static oriented boxes that collide: centre (N, 3), half size (N, 3), yaw_rad (N,), tag (N,) uint8."""

    centre: F64
    half: F64
    yaw_rad: F64
    tag: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class GroundHit:
    """Result of `Ground.below` for N points.

    `z` (N,) m, NaN where there is no ground below; `normal` (N, 3) unit, up; `tag` (N,) uint8 SemanticTag; `road` (N,)
    int32, index into `Scenery.road_ids`, -1 off the road.
    """

    z: F64
    normal: F64
    tag: NDArray[np.uint8]
    road: NDArray[np.int32]


class Ground(Protocol):
    """Height of the drivable, walkable and terrain surfaces."""

    def below(self, points: F64) -> GroundHit:
        """The highest surface at most 1.0 m above each of `points` (N, 3); vectorised, z selects the bridge level."""
        ...


@dataclass(frozen=True, slots=True)
class StopZone:
    """The box in which a vehicle obeys a light or sign: centre in the world, half size, and yaw."""

    centre: Vector3
    half: Vector3
    yaw_deg: float


@dataclass(frozen=True, slots=True)
class SignalSite:
    """A traffic light, stop sign, yield sign or speed limit sign of the map.

    `pose` is the actor's pose; `stop_zones` lie in front of its stop lines, one per governed approach lane;
    `controller_id` groups the lights that switch together, `junction_id` the controllers that take turns. `kind` is
    "traffic_light", "stop", "yield" or "speed_limit"; `value` is the limit in km/h.
    """

    signal_id: str
    kind: str
    pose: Transform
    stop_zones: tuple[StopZone, ...]
    controller_id: str = ""
    junction_id: str = ""
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenery:
    """The static content of a map: what is drawn, what collides, and the signals that traffic obeys."""

    map_name: str
    meshes: tuple[Mesh, ...]
    placements: tuple[Placement, ...]
    colliders: Boxes
    ground: Ground
    road_ids: NDArray[np.int64]
    road_speed_limit_kmh: F64  # per entry of road_ids
    signals: tuple[SignalSite, ...]
    controller_sequences: tuple[tuple[str, tuple[str, ...]], ...]  # junction id -> its controller ids, in order
    spawn_points: tuple[Transform, ...]
    walkways: tuple[F64, ...]  # polylines (N, 3) along pavements
    crosswalks: tuple[F64, ...]  # outlines (N, 3)
    lamps: F64 = field(default_factory=lambda: np.zeros((0, 3)))  # positions (L, 3) of the street lamps' lights


@dataclass(frozen=True, slots=True)
class ActorView:
    """One actor as the renderer draws it.

    `shape` is `VehicleSpec.shape`, "walker" or a prop's shape. `extent` is half the size; the centre of the body's box
    is `extent[2]` above the origin. `phase_rad` turns wheels or walking legs. `door_angles_rad` is empty while all
    doors are closed; then it holds how far the doors front left, front right, rear left, rear right are open.
    `wheel_angles_rad` is empty unless a client poses the wheels; then it holds (steer, rotation about the axle) of the
    wheels in the same order. `number` is unique among the actors of a picture, and 0 where the low bits of the id
    serve as such.
    """

    actor_id: int
    shape: str
    transform: Transform
    extent: Vector3
    colour: Vector3  # linear RGB, 0 to 1
    tag: SemanticTag
    lights: int = 0
    steer_rad: float = 0.0
    phase_rad: float = 0.0
    seed: int = 0
    door_angles_rad: tuple[float, ...] = ()
    wheel_angles_rad: tuple[tuple[float, float], ...] = ()
    model: str = ""
    speed_mps: float = 0.0
    number: int = 0

    @property
    def instance(self) -> int:
        """The actor's number in label pictures, 1 to MOST_INSTANCES."""
        return self.number or self.actor_id & MOST_INSTANCES


@dataclass(frozen=True, slots=True)
class CameraView:
    """A camera to render from; `transform` looks along +x, `fov_deg` horizontal."""

    width_px: int
    height_px: int
    fov_deg: float
    transform: Transform


Rgb: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class DebugPoint:
    """A square dot; `size_m` is its edge."""

    location: Vector3
    size_m: float
    colour: Rgb  # sRGB, 0 to 255
    on_screen: bool = False


@dataclass(frozen=True, slots=True)
class DebugLine:
    """A line from `begin` to `end`; a thickness of 0 draws one pixel."""

    begin: Vector3
    end: Vector3
    thickness_m: float
    colour: Rgb
    on_screen: bool = False


@dataclass(frozen=True, slots=True)
class DebugArrow:
    """A line with a head of four lines, each `head_m` long along the shaft and as far to the side."""

    begin: Vector3
    end: Vector3
    thickness_m: float
    head_m: float
    colour: Rgb
    on_screen: bool = False


@dataclass(frozen=True, slots=True)
class DebugBox:
    """The twelve edges of `box`; its centre is in world coordinates, `rotation_deg` is the rotation from the call."""

    box: BoundingBox
    thickness_m: float
    colour: Rgb
    on_screen: bool = False


@dataclass(frozen=True, slots=True)
class DebugText:
    location: Vector3
    text: str
    has_shadow: bool
    colour: Rgb
    on_screen: bool = True


DebugShape: TypeAlias = DebugPoint | DebugLine | DebugArrow | DebugBox | DebugText


@dataclass(frozen=True, slots=True)
class SceneState:
    """Clients' changes to a map's scenery; the same object until something changes.

    `hidden_placements` (P,) and `hidden_meshes` (M,) bool are parallel to `Scenery.placements` and `Scenery.meshes`.
    Per entry of `Scenery.lamps`: `lamp_mode` (L,) int8, -1 lit when it is dark, 0 off, 1 on; `lamp_colour` (L, 3) sRGB
    0 to 1, negative for the lamp's own; `lamp_intensity` (L,), 1 for the lamp's own.
    """

    hidden_placements: NDArray[np.bool_]
    hidden_meshes: NDArray[np.bool_]
    lamp_mode: NDArray[np.int8]
    lamp_colour: F64
    lamp_intensity: F64
