"""How a client comes to a new episode without harm to its TrafficManager.

The wheel's `load_world` forgets its episode as soon as the call is answered, and has the new one after `version` and
`get_episode_info`. Its TrafficManager's thread, which asynchronous mode keeps running, looks into what is forgotten,
and the process dies. So the answer to the load waits for that thread's next call, and that call for the client's first
one in its new episode: the thread is in a call all the while, as it mostly is while CARLA loads for seconds.
"""

from __future__ import annotations

from embedded_carla.rpc import Call

SOON_S = 0.1
"""For how long the thread's next call is waited for; in synchronous mode it sleeps and makes none."""

LONGEST_S = 1.0
"""For how long the thread's call waits for the client at most."""

MOST_HELD = 16
_OWN = frozenset({"version", "get_episode_info"})
_UNWAITED = frozenset({"apply_batch"})
"""Calls of the thread whose answer an asynchronous TrafficManager does not wait for."""


class Changeover:
    """One client's, from the load to its first call in the new episode. Times are monotonic seconds.

    `is_over` tells that calls are no longer to be brought here.
    """

    def __init__(self, answer: bytes, now_s: float) -> None:
        """`answer` is what the load is to be answered with."""
        self._answer = answer
        self._held: list[Call] = []
        self._until_s = now_s + SOON_S
        self._is_answered = self._is_told = False
        self.is_over = False

    def on_call(self, call: Call, now_s: float) -> tuple[bytes, list[Call]]:
        """What is to be sent first, and the calls that are to be carried out now, in this order."""
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
        """As `on_call`, for when nobody has called."""
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
