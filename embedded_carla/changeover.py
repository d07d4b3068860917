"""Moves a client to a new episode without crashing its TrafficManager.

The wheel's `load_world` releases its episode as soon as the call is answered and has the new one only after `version`
and `get_episode_info`. The TrafficManager's thread, which keeps running in asynchronous mode, accesses the released
episode in between, and the client process dies. So the answer to the load waits for that thread's next call, and that
call's answer waits until the client has made its first call in the new episode. The thread thus stays inside a call all
the while, as it mostly does while CARLA loads for seconds.
"""

from __future__ import annotations

from embedded_carla.wire.rpc import Call

SOON_S = 0.1
"""Time, s, to wait for the thread's next call; in synchronous mode the thread sleeps and makes none."""

LONGEST_S = 1.0
"""Longest time, s, that the thread's call waits for the client."""

MOST_HELD = 16
"""Largest number of calls held back during one changeover."""
_OWN = frozenset({"version", "get_episode_info"})
"""Calls with which the client itself opens the new episode."""
_UNWAITED = frozenset({"apply_batch"})
"""Calls of the thread whose answer an asynchronous TrafficManager does not wait for."""


class Changeover:
    """The changeover of one client, from the load to its first call in the new episode. Times are monotonic seconds.

    Once `is_over` is set, calls must no longer be passed to it.
    """

    def __init__(self, answer: bytes, now_s: float) -> None:
        """`answer` is the answer to the load."""
        self._answer = answer
        self._held: list[Call] = []
        self._until_s = now_s + SOON_S
        self._is_answered = self._is_told = False
        self.is_over = False

    def on_call(self, call: Call, now_s: float) -> tuple[bytes, list[Call]]:
        """Handle a call. Returns the bytes to send first, and the calls to carry out now, in this order."""
        if not self._is_answered:
            self._held.append(call)
            return (b"", []) if call.method in _UNWAITED else (self._answer_load(now_s), [])
        if self._is_told or len(self._held) >= MOST_HELD:
            return b"", [*self._end(), call]
        if call.method not in _OWN:
            self._held.append(call)
            return b"", []
        self._is_told = call.method == "get_episode_info"
        return b"", [call]

    def on_time(self, now_s: float) -> tuple[bytes, list[Call]]:
        """Like `on_call`, but when time has passed without a call."""
        if now_s < self._until_s:
            return b"", []
        if self._is_answered or not self._held:
            return (b"" if self._is_answered else self._answer), self._end()
        return self._answer_load(now_s), []

    def _answer_load(self, now_s: float) -> bytes:
        self._is_answered, self._until_s = True, now_s + LONGEST_S
        return self._answer

    def _end(self) -> list[Call]:
        self.is_over, held = True, self._held
        self._held = []
        return held
