"""Bones of walkers and vehicles under CARLA's names, at the joints of the drawn bodies.

A walker's component frame has its origin between the feet, x forward and y right. Joints are at the heights where the
drawn figure bends, as shares of its height, and move with the same stride. At rest every bone has the body's
orientation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from embedded_carla.scene import F64
from embedded_carla.types import Transform, Vector3, VehicleSpec

HIP, KNEE, SHOULDER, ELBOW = 0.515, 0.285, 0.815, 0.645  # the drawn figure's joints
_SINK = 0.040  # the hip sinks by this share of the height when the legs are spread


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone: `rest` is its position in a standing walker of height 1, `limb` the joint that moves it, if any."""

    name: str
    parent: str
    rest: Vector3
    limb: str = ""


def _fingers(side: str, sign: float) -> list[Bone]:
    hand = f"crl_hand__{side}"
    out = []
    for finger, y, reach in (
        ("Thumb", -0.012, 0.020), ("Index", -0.006, 0.036), ("Middle", 0.0, 0.038), ("Ring", 0.006, 0.036),
        ("Pinky", 0.012, 0.030),
    ):  # fmt: skip
        parent = hand
        for joint, share in (("", 0.35), ("01", 0.6), ("02", 0.8), ("End", 1.0)):
            name = f"crl_hand{finger}{joint}__{side}"
            out.append(
                Bone(name, parent, (0.010, sign * (0.122 - y), 0.495 - reach * share - 0.008), f"forearm {side}")
            )
            parent = name
    return out


def _arm(side: str, sign: float) -> list[Bone]:
    return [
        Bone(f"crl_shoulder__{side}", "crl_spine01__C", (-0.004, sign * 0.03, 0.82)),
        Bone(f"crl_arm__{side}", f"crl_shoulder__{side}", (0.0, sign * 0.110, SHOULDER), f"arm {side}"),
        Bone(f"crl_foreArm__{side}", f"crl_arm__{side}", (0.0, sign * 0.116, ELBOW), f"forearm {side}"),
        Bone(f"crl_hand__{side}", f"crl_foreArm__{side}", (0.008, sign * 0.122, 0.495), f"forearm {side}"),
        *_fingers(side, sign),
    ]


def _leg(side: str, sign: float) -> list[Bone]:
    y = sign * 0.052
    return [
        Bone(f"crl_thigh__{side}", "crl_hips__C", (0.0, y, HIP), f"thigh {side}"),
        Bone(f"crl_leg__{side}", f"crl_thigh__{side}", (0.0, y, KNEE), f"shin {side}"),
        Bone(f"crl_foot__{side}", f"crl_leg__{side}", (0.0, y, 0.044), f"shin {side}"),
        Bone(f"crl_toe__{side}", f"crl_foot__{side}", (0.06, y, 0.012), f"shin {side}"),
        Bone(f"crl_toeEnd__{side}", f"crl_toe__{side}", (0.092, y, 0.010), f"shin {side}"),
    ]


WALKER_BONES: tuple[Bone, ...] = (
    Bone("crl_root", "", (0.0, 0.0, 0.0)),
    Bone("crl_hips__C", "crl_root", (0.0, 0.0, 0.54)),
    Bone("crl_spine__C", "crl_hips__C", (0.0, 0.0, 0.60)),
    Bone("crl_spine01__C", "crl_spine__C", (0.0, 0.0, 0.69)),
    *_arm("L", -1.0),
    Bone("crl_neck__C", "crl_spine01__C", (-0.004, 0.0, 0.84)),
    Bone("crl_Head__C", "crl_neck__C", (0.0, 0.0, 0.88)),
    Bone("crl_eye__L", "crl_Head__C", (0.048, -0.016, 0.935)),
    Bone("crl_eye__R", "crl_Head__C", (0.048, 0.016, 0.935)),
    *_arm("R", 1.0),
    *_leg("R", 1.0),
    *_leg("L", -1.0),
)
"""A walker's bones in CARLA's order."""

_PIVOTS = {"thigh": HIP, "shin": KNEE, "arm": SHOULDER, "forearm": ELBOW}
_UPPER = {"shin": "thigh", "forearm": "arm"}


def stride(phase_rad: float, side: str) -> Mapping[str, float]:
    """Rotation about y in rad of each joint of one side, positive forward; zeros for a standing walker (phase 0)."""
    if phase_rad == 0.0:
        return dict.fromkeys(_PIVOTS, 0.0)
    s = math.sin(phase_rad + (math.pi if side == "R" else 0.0))
    swing = max(math.cos(phase_rad + (math.pi if side == "R" else 0.0)), 0.0)
    return {
        "thigh": 0.04 + 0.42 * s, "shin": -(0.10 + 0.95 * swing * swing),
        "arm": -0.04 - 0.38 * s, "forearm": 0.28 + 0.22 * max(-s, 0.0),
    }  # fmt: skip


def walker_bones(phase_rad: float, height_m: float) -> dict[str, F64]:
    """Pose (4, 4) of every bone in the component frame, for a walker of this height at this phase of its stride."""
    sink = _SINK * math.sin(phase_rad) ** 2
    turns = {side: _turns(stride(phase_rad, side)) for side in "LR"}
    out = {}
    for bone in WALKER_BONES:
        pose = np.eye(4)
        pose[:3, 3] = bone.rest
        if bone.limb:
            kind, side = bone.limb.split()
            pose = turns[side][kind] @ pose
        if bone.name != "crl_root":
            pose[2, 3] -= sink
        pose[:3, 3] *= height_m
        out[bone.name] = pose
    return out


def _turns(angles: Mapping[str, float]) -> dict[str, F64]:
    """Rotation (4, 4) of each joint: a shin or forearm turns about the knee or elbow, then with the upper limb."""
    own = {kind: _about(_PIVOTS[kind], angle) for kind, angle in angles.items()}
    return {kind: own[_UPPER[kind]] @ own[kind] if kind in _UPPER else own[kind] for kind in own}


def _about(height: float, angle_rad: float) -> F64:
    """Rotation, positive forward, about the y axis through (0, 0, height)."""
    s, c = math.sin(angle_rad), math.cos(angle_rad)
    return np.array([[c, 0, -s, height * s], [0, 1, 0, 0], [s, 0, c, height * (1 - c)], [0, 0, 0, 1.0]])


def vehicle_bones(spec: VehicleSpec, angles_deg: Sequence[tuple[float, float]]) -> dict[str, F64]:
    """Poses (4, 4) of the body and its wheels in the actor's frame; `angles_deg` is (steer, turn) per wheel."""
    front, half = spec.rear_axle_x_m + spec.wheelbase_m, spec.track_m / 2
    places = ((front, -half), (front, half), (spec.rear_axle_x_m, -half), (spec.rear_axle_x_m, half))
    out = {"Vehicle_Base": np.eye(4)}
    for name, (x, y), (steer, turn) in zip(WHEEL_BONES, places, angles_deg, strict=True):
        out[name] = Transform(x, y, spec.wheel_radius_m, -turn, steer, 0.0).matrix()
    return out


WHEEL_BONES = ("Wheel_Front_Left", "Wheel_Front_Right", "Wheel_Rear_Left", "Wheel_Rear_Right")


def relative(poses: Mapping[str, F64], parents: Mapping[str, str]) -> dict[str, F64]:
    """Convert poses to the parents' frames; a bone without a parent keeps its pose."""
    return {
        name: np.linalg.inv(poses[parents[name]]) @ pose if parents.get(name) else pose for name, pose in poses.items()
    }


WALKER_PARENTS = {bone.name: bone.parent for bone in WALKER_BONES}
VEHICLE_PARENTS = {"Vehicle_Base": "", **dict.fromkeys(WHEEL_BONES, "Vehicle_Base")}


@dataclass(slots=True)
class CustomPose:
    """Pose that a client has given a walker: relative transforms by bone, and the weight of the blend."""

    bones: dict[str, Transform] = field(default_factory=dict)
    blend: float = 0.0


def posed(animated: Mapping[str, F64], custom: CustomPose) -> dict[str, F64]:
    """Component poses of a walker: its animation blended with a client's pose (0: animation, 1: the pose)."""
    if custom.blend <= 0.0 or not custom.bones:
        return dict(animated)
    local = relative(animated, WALKER_PARENTS)
    out: dict[str, F64] = {}
    for bone in WALKER_BONES:
        own = local[bone.name]
        wanted = custom.bones.get(bone.name)
        if wanted is not None:
            own = _mixed(own, wanted.matrix(), custom.blend)
        out[bone.name] = out[bone.parent] @ own if bone.parent else own
    return out


def _mixed(a: F64, b: F64, share: float) -> F64:
    """Interpolate between two poses: positions along a line, rotations along the shortest arc."""
    axis_angle = _log(a[:3, :3].T @ b[:3, :3])
    mixed = np.eye(4)
    mixed[:3, :3] = a[:3, :3] @ _exp(share * axis_angle)
    mixed[:3, 3] = (1.0 - share) * a[:3, 3] + share * b[:3, 3]
    return mixed


def _log(turn: F64) -> F64:
    """The rotation vector of a rotation matrix."""
    cosine = float(np.clip((np.trace(turn) - 1.0) / 2.0, -1.0, 1.0))
    angle = math.acos(cosine)
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    length = float(np.linalg.norm(axis))
    if length > 1e-9:
        return axis / length * angle
    if angle < 1.0:
        return np.zeros(3)
    column = int(np.argmax(np.diag(turn)))  # half a turn: any column of R + 1 is the axis
    half = (turn + np.eye(3))[:, column]
    return np.asarray(half / np.linalg.norm(half) * angle)


def _exp(vector: F64) -> F64:
    """The rotation matrix of a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn: F64 = np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)
    return turn
