"""Decides when a synchronous world may make its next frame without harming a client's TrafficManager.

CARLA's TrafficManager lives in the client's process. In synchronous mode its thread waits on a condition variable until
the client's `tick()` has received a snapshot, steps, and waits again. Two faults of the 0.9.16 wheel show when the next
snapshot comes too early (`docs/embedded-carla.md` has the measurements):

* `SynchronousTick` sets its flag and notifies without holding the mutex. If a snapshot arrives at the moment when the
  thread goes to sleep, the wake-up is lost and both threads wait for ever.
* After `set_synchronous_mode(False)` a stale "step is done" flag remains, so that in the next synchronous run `tick()`
  returns while the step still runs. If the next snapshot lacks a vehicle that the step is processing, the step reads
  uninitialised memory as its speed limit: it aborts ("distance > 0.0") or searches the map for hours.

The server follows each step through the calls that it makes: `get_vehicle_light_states`, `get_weather_parameters`,
`apply_batch`, and `get_episode_settings` when the thread is about to wait. So a frame is held back until that last call
has been answered, and its snapshot until `SETTLE_S` after it. No call is delayed, and a client without a TrafficManager
never waits.
"""

from __future__ import annotations

import socket

import msgpack

SETTLE_S = 0.001
"""Shortest time, s, from the answer to the thread's last call to the next snapshot.

The thread is asleep some 0.05 ms after that answer, and later when it has to wait for a core. With 30 vehicles physics
takes as long, so the wait costs next to nothing. 0.2 ms still lost one wake-up in 61,000 ticks on an overloaded machine
with no physics; a lost wake-up is repaired after `LOST_S`.
"""

STEP_S = 1.0
"""Longest time, s, to wait for the end of a step that has begun; later, the calls are taken for another thread's."""

EXPECT_S = 0.25
"""Time, s, to wait for the step that each frame causes, in either mode of the TrafficManager."""

LOST_S = 1.5
"""A client that makes no call for this time, s, while a frame has caused no step has lost its wake-up."""

MISSES = 3
"""Consecutive steps missing after `EXPECT_S` until none is expected; the next observed step resets the count."""


class TrafficManagerWatch:
    """Tracks the TrafficManager of one client through that client's calls. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._has_manager = False
        self._is_stepping = False
        self._has_acted = False  # the step has sent its controls (apply_batch)
        self._owes_step = False  # the last frame should cause a step that has not been seen to end
        self._misses = 0
        self._last_call = ""
        self._heard_s = 0.0
        self._called_s = 0.0  # last call of get_episode_settings

    def on_call(self, method: str, now_s: float) -> None:
        """Note that a call of this client was answered."""
        if method == "get_episode_settings":
            self._called_s = now_s
            # Without vehicles an asynchronous step sends no batch, and the thread asks again and again.
            if self._is_stepping and (self._has_acted or self._last_call == method):
                self._is_stepping = self._owes_step = False
        elif method == "get_vehicle_light_states":
            self._is_stepping, self._has_acted = True, False
            self._misses = 0
        elif method == "apply_batch":
            self._has_acted = self._is_stepping
        elif method == "add_traffic_manager_running":
            if not self._has_manager:
                self._owes_step = False  # earlier frames were not for it; it first reads the map for 1-2 s
            self._has_manager = True
        elif method == "destroy_traffic_manager":
            self._has_manager = False
        self._last_call = method
        self._heard_s = now_s

    @property
    def has_manager(self) -> bool:
        return self._has_manager

    def may_tick(self, due_s: float, now_s: float) -> bool:
        """Whether a frame that has been due since `due_s` may be made at `now_s`."""
        if not self._has_manager:
            return True
        if self._is_stepping:
            return now_s - due_s >= STEP_S
        return not self._owes_step or now_s - due_s >= EXPECT_S

    def settle_s(self, now_s: float) -> float:
        """Time, s, that the snapshot still has to wait."""
        return max(self._called_s + SETTLE_S - now_s, 0.0) if self._has_manager else 0.0

    def is_lost(self, frame_s: float, now_s: float) -> bool:
        """Whether the thread seems to have missed the frame sent at `frame_s`: it has not stepped, and nobody calls.

        A thread that has just started asks for the settings right before it waits for its first frame. That call may
        come after the frame, so a call alone does not show that the thread is awake.
        """
        quiet_s = now_s - max(frame_s, self._heard_s)
        return self._has_manager and self._owes_step and not self._is_stepping and quiet_s >= LOST_S

    def on_frame(self) -> None:
        """Note that a snapshot is being sent."""
        if self._owes_step and not self._is_stepping:
            self._misses += 1
        self._owes_step = self._misses < MISSES
        self._is_stepping = self._has_acted = False


def wake(host: str, port: int) -> None:
    """Wake a TrafficManager's thread over the manager's own RPC port, and leave it in synchronous mode.

    Switching synchronous mode off sets the flag that the thread waits for and notifies it once more; the mode is then
    switched on again. Raises OSError when the manager does not answer.
    """
    with socket.create_connection((host, port), timeout=0.5) as manager:
        for number, mode in enumerate((False, True)):
            manager.sendall(msgpack.packb([0, number, "set_synchronous_mode", [mode]]))
            manager.recv(256)
