"""`--routes 0-4,7` selects routes in the order of the file, and refuses what it cannot select in one line."""

from __future__ import annotations

import pytest

from av_core.errors import ConfigError
from scenarios.leaderboard.routes import LeaderboardRoute
from scenarios.leaderboard.subset import select_routes


def routes(*ids: str) -> list[LeaderboardRoute]:
    return [LeaderboardRoute(route_id, "Town99", (), (), (), number + 1) for number, route_id in enumerate(ids)]


TEN = routes(*map(str, range(10)))


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0-4,7", "01234 7"),
        ("3", "3"),
        (" 8 , 1 - 2 ", "12 8"),
        ("7,0-4", "01234 7"),
        ("5-5", "5"),
    ],
)
def test_routes_come_in_the_order_of_the_file(text: str, ids: str) -> None:
    assert [route.route_id for route in select_routes(TEN, text)] == list(ids.replace(" ", ""))


def test_ranges_follow_the_file_not_the_numbers() -> None:
    file = routes("24", "3", "a-b", "17")
    assert [route.route_id for route in select_routes(file, "24-a-b")] == ["24", "3", "a-b"]
    assert [route.route_id for route in select_routes(file, "a-b")] == ["a-b"]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (TEN, "12", "no route has the id '12'; there are 0-9"),
        (TEN, "0-40", "no route has the id '40'; there are 0-9"),
        (TEN, "", "no route has the id ''"),
        (TEN, "1,,2", "no route has the id ''"),
        (TEN, "4-2", "in '4-2' the last route is before the first"),
        (TEN, "1-3,2", "route '2' is named twice"),
        (routes("0", "1", "0"), "0", "the file has two routes with the id '0'"),
        (routes("0", "1", "5", "x"), "2", "there are 0-1, 5, x"),
        (routes(*map(str, range(0, 99, 2))), "1", "20, 22 and more"),
    ],
)
def test_refusals_are_one_line(file: list[LeaderboardRoute], text: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        select_routes(file, text)
    assert words in str(refused.value)
    assert str(refused.value).startswith("--routes ")
    assert "\n" not in str(refused.value)
