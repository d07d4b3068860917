"""All walkers of the world as a struct of arrays: they walk as told, stand on the ground and fall."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import Ground
from embedded_carla.types import Float, Transform, Vector3, WalkerControl, wrapped_deg
from embedded_carla.world.walkers import kernel
from embedded_carla.world.walkers.kernel import CLIMB_MPS, STRIDE_M

GRAVITY_MPS2 = 9.81
ACCELERATION_MPS2 = 8.0
TURN_RATE_RADPS = math.radians(720.0)
STEP_UP_M = 0.4  # kerbs and stairs up to this height are climbed
JUMP_MPS = 4.2


class WalkerCrowd:
    """Physics of all walkers, indexed by slot; their origins are on the ground between the feet.

    Public arrays grow with the crowd, so read them anew each time: `location` (N, 3), `rotation_deg` (N, 3);
    `velocity`, `acceleration` (N, 3) m/s, m/s^2 in the world frame; `angular_velocity_degps` (N, 3); `phase_rad` (N,)
    of the legs; `physics`, `gravity`, `alive` (N,) bool. Walkers without physics stay where they are put.
    """

    location: Float
    rotation_deg: Float
    velocity: Float
    acceleration: Float
    angular_velocity_degps: Float
    phase_rad: Float
    physics: NDArray[np.bool_]
    gravity: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    _placed: NDArray[np.bool_]  # by a client's own crowd simulation, not long ago
    _silence_s: Float
    _wanted: Float
    _jump: NDArray[np.bool_]
    _by_client: kernel.Placed

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._controls: list[WalkerControl | None] = []
        self._allot(16)

    def _allot(self, capacity: int) -> None:
        def grown(name: str, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
            new: NDArray[Any] = np.zeros((capacity, *shape), dtype=dtype)
            old = getattr(self, name, new[:0])
            new[: len(old)] = old
            return new

        for name in ("location", "rotation_deg", "velocity", "acceleration", "angular_velocity_degps", "_wanted"):
            setattr(self, name, grown(name, (3,), np.float64))
        self.phase_rad = grown("phase_rad", (), np.float64)
        self._silence_s = grown("_silence_s", (), np.float64)
        for name in ("physics", "gravity", "alive", "_jump", "_placed"):
            setattr(self, name, grown(name, (), np.bool_))
        self._by_client = kernel.Placed(
            self.location, self.rotation_deg, self.velocity, self.phase_rad, self._placed, self._silence_s
        )

    def add(self, pose: Transform) -> int:
        """Add a walker at rest at `pose`; it keeps the returned slot until `remove`."""
        slot = next((i for i, c in enumerate(self._controls) if c is None), len(self._controls))
        if slot == len(self._controls):
            self._controls.append(None)
            if slot >= len(self.alive):
                self._allot(2 * len(self.alive))
        self.alive[slot] = self.physics[slot] = self.gravity[slot] = True
        self.velocity[slot] = self.acceleration[slot] = self.angular_velocity_degps[slot] = 0.0
        self.phase_rad[slot] = 0.0
        self._placed[slot] = False
        self.set_control(slot, WalkerControl())
        self.teleport(slot, pose)
        return slot

    def remove(self, slot: int) -> None:
        self._controls[slot] = None
        self.alive[slot] = self.physics[slot] = self._placed[slot] = False

    def control(self, slot: int) -> WalkerControl:
        control = self._controls[slot]
        if control is None:
            raise KeyError(f"no walker in slot {slot}")
        return control

    def set_control(self, slot: int, control: WalkerControl) -> None:
        """Walk along the horizontal part of `control.direction` (made a unit vector) until the next control."""
        self._controls[slot] = control
        x, y, _ = control.direction
        length = math.hypot(x, y)
        self._wanted[slot] = (x / length, y / length, max(control.speed, 0.0)) if length > 1e-6 else (0.0, 0.0, 0.0)
        self._jump[slot] = control.jump

    def teleport(self, slot: int, pose: Transform) -> None:
        self.location[slot] = pose.location
        self.rotation_deg[slot] = tuple(wrapped_deg(angle) for angle in (pose.pitch_deg, pose.yaw_deg, pose.roll_deg))

    def set_velocity(self, slot: int, velocity: Vector3) -> None:
        self.velocity[slot] = velocity

    def set_physics(self, slot: int, enabled: bool) -> None:
        """Switch physics on or off. Without it the walker stands still; switched on again, it starts from rest."""
        self.physics[slot] = enabled
        if not enabled:
            self.velocity[slot] = self.acceleration[slot] = self.angular_velocity_degps[slot] = 0.0

    def set_state(self, slot: int, pose: Transform, speed_mps: float) -> None:
        """Place a walker that a client moves itself; its stride advances by the distance from its last position.

        The next step puts the feet on the ground if the ground is near `pose`.
        """
        place, yaw, speed = np.array([pose.location]), np.array([pose.yaw_deg]), np.array([speed_mps])
        self.set_states(np.array([slot]), place, yaw, speed)

    def set_states(self, slots: NDArray[np.intp], location: Float, yaw_deg: Float, speed_mps: Float) -> None:
        """`set_state` for many: slots (n,), location (n, 3) m, yaw (n,) degrees, speed (n,) m/s. No slot may repeat."""
        place, yaw, speed = (np.ascontiguousarray(a, dtype=np.float64) for a in (location, yaw_deg, speed_mps))
        kernel.place(slots, place, yaw, speed, self._by_client)

    def _stand_placed(self, dt_s: float) -> None:
        """Put the walkers that clients place onto the ground."""
        placed = np.flatnonzero(self._placed)
        if len(placed):
            kernel.stand(placed, self._ground.below(self.location[placed]).z, self._by_client, float(dt_s))

    def step(self, dt_s: float) -> None:
        """Advance by `dt_s`."""
        self._stand_placed(dt_s)
        active = np.flatnonzero(self.alive & self.physics)
        if not len(active):
            return
        old = self.velocity[active]
        location, wanted = self.location[active], self._wanted[active]
        floor = self._ground.below(location).z
        height = location[:, 2] - floor
        stands = (height <= 0.05) & (height >= -1.0)
        velocity = self._walk(old, wanted, stands, dt_s)
        stepped = location + velocity * dt_s
        stepped[:, 2] = location[:, 2]
        ahead = self._ground.below(stepped).z
        blocked = stands & (ahead - floor > STEP_UP_M)
        stepped[blocked, :2], velocity[blocked, :2] = location[blocked, :2], 0.0
        ahead = np.where(blocked, floor, ahead)
        self._stand(stepped, velocity, ahead, stands, active, dt_s)
        self.location[active], self.velocity[active] = stepped, velocity
        self.acceleration[active] = (velocity - old) / dt_s
        self._turn(active, wanted, dt_s)

    def _walk(self, old: Float, wanted: Float, stands: NDArray[np.bool_], dt_s: float) -> Float:
        """Horizontal velocity, accelerated towards the wanted one; unchanged in the air."""
        change = wanted[:, :2] * wanted[:, 2:] - old[:, :2]
        size = np.hypot(change[:, 0], change[:, 1])
        share = np.minimum(ACCELERATION_MPS2 * dt_s / np.maximum(size, 1e-9), 1.0) * stands
        velocity = old.copy()
        velocity[:, :2] += change * share[:, None]
        return velocity

    def _stand(
        self,
        location: Float,
        velocity: Float,
        floor: Float,
        stood: NDArray[np.bool_],
        active: NDArray[np.intp],
        dt_s: float,
    ) -> None:
        """Set height and vertical speed in place: climb to a higher floor, step down or fall to a lower one."""
        start = self.location[active, 2]
        jumps = stood & self._jump[active]
        self._jump[active] = False
        fall = np.where(jumps, JUMP_MPS, velocity[:, 2] - GRAVITY_MPS2 * dt_s * self.gravity[active])
        z = start + fall * dt_s
        reached = ~jumps & (z <= floor)
        climbed = np.minimum(floor, np.maximum(start, floor - STEP_UP_M) + CLIMB_MPS * dt_s)
        followed = stood & ~jumps & (start - floor <= STEP_UP_M) & (floor <= start)
        location[:, 2] = np.where(reached, np.where(floor > start, climbed, floor), np.where(followed, floor, z))
        grounded = reached | followed
        velocity[:, 2] = np.where(grounded, 0.0, fall)

    def _turn(self, active: NDArray[np.intp], wanted: Float, dt_s: float) -> None:
        """Turn towards the walking direction; the stride advances with the speed."""
        yaw = np.radians(self.rotation_deg[active, 1])
        target = np.where(wanted[:, 2] > 0.0, np.arctan2(wanted[:, 1], wanted[:, 0]), yaw)
        error = np.remainder(target - yaw + math.pi, 2 * math.pi) - math.pi
        turn = np.minimum(np.maximum(error, -TURN_RATE_RADPS * dt_s), TURN_RATE_RADPS * dt_s)
        yaw = np.remainder(yaw + turn + math.pi, 2 * math.pi) - math.pi
        self.rotation_deg[active] = np.stack([0 * yaw, np.degrees(yaw), 0 * yaw], axis=1)
        self.angular_velocity_degps[active, 2] = np.degrees(turn) / dt_s
        speed = np.hypot(self.velocity[active, 0], self.velocity[active, 1])
        phase = self.phase_rad[active] + 2 * math.pi * speed * dt_s / STRIDE_M
        self.phase_rad[active] = np.remainder(phase, 2 * math.pi)
