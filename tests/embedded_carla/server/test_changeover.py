"""What a client with a TrafficManager is told, and when, as it comes to a new episode."""

from __future__ import annotations

from embedded_carla.changeover import LONGEST_S, MOST_HELD, SOON_S, Changeover
from embedded_carla.wire.rpc import Call

ANSWER = b"loaded"


def call(method: str) -> Call:
    return Call(1, method, [])


def test_the_threads_call_waits_until_the_client_has_its_episode() -> None:
    changeover = Changeover(ANSWER, 0.0)
    batch, poll, version, info, token = (
        call(name)
        for name in ("apply_batch", "get_episode_settings", "version", "get_episode_info", "get_sensor_token")
    )
    assert changeover.on_call(batch, 0.01) == (b"", [])  # nobody waits for its answer: the thread may be anywhere
    assert changeover.on_call(poll, 0.02) == (ANSWER, [])
    assert changeover.on_call(version, 0.03) == (b"", [version])
    assert changeover.on_call(info, 0.04) == (b"", [info])
    assert changeover.on_time(0.05) == (b"", [])
    assert not changeover.is_over
    assert changeover.on_call(token, 0.06) == (b"", [batch, poll, token])
    assert changeover.is_over


def test_a_thread_that_sleeps_is_not_waited_for() -> None:
    changeover = Changeover(ANSWER, 0.0)
    assert changeover.on_time(0.9 * SOON_S) == (b"", [])
    assert changeover.on_time(SOON_S) == (ANSWER, [])
    assert changeover.is_over


def test_no_call_waits_for_ever_and_few_wait() -> None:
    changeover, poll = Changeover(ANSWER, 0.0), call("get_episode_settings")
    assert changeover.on_call(poll, 0.0) == (ANSWER, [])
    assert changeover.on_time(LONGEST_S) == (b"", [poll])
    assert changeover.is_over
    changeover = Changeover(ANSWER, 0.0)
    for _ in range(MOST_HELD):
        assert changeover.on_call(poll, 0.0)[1] == []
    assert changeover.on_call(poll, 0.0) == (b"", [poll] * (MOST_HELD + 1))
