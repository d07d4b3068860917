"""The pages in a real Chromium: no error on the console; table, map, timeline and video move one another."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from av_stack.report import run_page
from av_stack.report.make import write_report
from av_stack.run import Options, run
from av_stack.world.spec import Address
from scenarios.model import load_scenario
from tests.av_stack.chromium import opened_browser
from tests.av_stack.report.made_drive import HIT_S, STEP_S, STEPS, write_drive
from tests.av_stack.report.test_pages import write_suite

END_S = (STEPS - 1) * STEP_S
PICTURE_S = 2 * STEP_S


@dataclass
class Tab:
    """A page in the browser, and what its console said."""

    page: Page
    errors: list[str] = field(default_factory=list)

    def time(self) -> float:
        """The time of the drive that the page shows."""
        return float(self.page.evaluate("report.player.time"))

    def video_time(self) -> float:
        return float(self.page.evaluate("report.player.video.currentTime"))

    def cursor_time(self) -> float:
        """The time at which the timeline's cursor stands."""
        script = """() => {
          const plot = document.querySelector('#timeline .plot'), axis = plot._fullLayout.xaxis;
          const cursor = document.querySelector('#timeline .cursor').getBoundingClientRect();
          return axis.p2l(cursor.left + 1 - plot.getBoundingClientRect().left - axis._offset);
        }"""
        return float(self.page.evaluate(script))

    def timeline_x(self, time_s: float) -> float:
        """Where the timeline shows a time, px."""
        script = """(time) => {
          const plot = document.querySelector('#timeline .plot'), axis = plot._fullLayout.xaxis;
          return plot.getBoundingClientRect().left + axis._offset + axis.l2p(time);
        }"""
        return float(self.page.evaluate(script, time_s))

    def timeline_y(self, share: float) -> float:
        """A height in the timeline, px; 0 is its upper edge."""
        box = self.page.locator("#timeline").bounding_box()
        assert box is not None
        return float(box["y"] + share * box["height"])

    def map_point(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Where the map shows a position, px."""
        script = """([x, y]) => {
          const plot = document.querySelector('#map .plot'), {xaxis, yaxis} = plot._fullLayout;
          const box = plot.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
        }"""
        u, v = self.page.evaluate(script, [x_m, y_m])
        return float(u), float(v)

    def assert_shows(self, time_s: float, tolerance_s: float = 0.01) -> None:
        """The player, the cursor and the picture of the video are at this time."""
        self.page.wait_for_function("!report.player.video.seeking")
        assert self.time() == pytest.approx(time_s, abs=tolerance_s)
        assert self.cursor_time() == pytest.approx(time_s, abs=tolerance_s + 0.05)
        begin_s = float(self.page.evaluate("report.player.begin"))
        assert self.video_time() == pytest.approx(time_s - begin_s, abs=tolerance_s)

    def picture_level(self) -> float:
        """Brightness of the picture that the video shows, 0 to 255."""
        script = """() => {
          const canvas = document.createElement('canvas');
          canvas.width = canvas.height = 8;
          const context = canvas.getContext('2d');
          context.drawImage(report.player.video, 0, 0, 8, 8);
          return context.getImageData(4, 4, 1, 1).data[0];
        }"""
        return float(self.page.evaluate(script))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def open_tab(browser: Browser) -> Iterator[Callable[[Path], Tab]]:
    """Opens pages from the disk, offline; at the end none of them may have said an error."""
    tabs: list[Tab] = []
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)

    def open_page(path: Path) -> Tab:
        tab = Tab(context.new_page())
        tabs.append(tab)

        def note(message: Any) -> None:
            if message.type in ("error", "warning"):
                tab.errors.append(message.text)

        tab.page.on("console", note)
        tab.page.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.page.on("requestfailed", lambda request: tab.errors.append(f"not loaded: {request.url[:200]}"))
        tab.page.goto(f"file://{path}")
        tab.page.wait_for_function("window.report", timeout=60_000)
        return tab

    yield open_page
    context.close()
    assert [tab.errors for tab in tabs] == [[] for _ in tabs]


@pytest.fixture(scope="module")
def drive_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_drive(tmp_path_factory.mktemp("drive")))


def test_a_click_on_an_infraction_moves_the_video_there(open_tab: Callable[[Path], Tab], drive_page: Path) -> None:
    tab = open_tab(drive_page)
    tab.assert_shows(STEP_S, PICTURE_S)  # the first picture
    tab.page.click("#infractions tr[data-row='0']")
    tab.assert_shows(HIT_S)
    assert tab.picture_level() == pytest.approx(40 + HIT_S / STEP_S / 2, abs=4.0)
    assert tab.page.locator("tr.now").count() == 1
    tab.page.mouse.click(*tab.map_point(76.4, 0.0))  # the second one on the map
    tab.assert_shows(15.0)
    tab.page.mouse.click(tab.timeline_x(HIT_S) + 4.0, tab.timeline_y(0.0) + 18.0)  # beside the middle of the mark
    tab.assert_shows(HIT_S)
    tab.page.click("tr[data-time='3.00']")  # the begin of a scenario
    tab.assert_shows(3.0)


def test_a_video_beside_the_page_follows_too(
    open_tab: Callable[[Path], Tab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "EMBEDDED_BYTES_MAX", 0)
    tab = open_tab(write_report(write_drive(tmp_path)))
    assert tab.page.evaluate("report.player.video.src").endswith("/drive.mp4")
    tab.page.click("#infractions tr[data-row='0']")
    tab.assert_shows(HIT_S)


def test_dragging_on_the_timeline_moves_the_video(open_tab: Callable[[Path], Tab], drive_page: Path) -> None:
    tab = open_tab(drive_page)
    tab.page.mouse.move(tab.timeline_x(4.0), tab.timeline_y(0.5))
    tab.page.mouse.down()
    tab.assert_shows(4.0, 0.1)
    for time_s in (6.0, 9.0):
        tab.page.mouse.move(tab.timeline_x(time_s), tab.timeline_y(0.5))
        tab.assert_shows(time_s, 0.1)
    tab.page.mouse.up()
    tab.page.mouse.move(tab.timeline_x(2.0), tab.timeline_y(0.5))
    tab.assert_shows(9.0, 0.1)
    tab.page.keyboard.press("ArrowLeft")
    tab.assert_shows(8.0, 0.1)


def test_the_video_moves_the_cursor(open_tab: Callable[[Path], Tab], drive_page: Path) -> None:
    tab = open_tab(drive_page)
    tab.page.evaluate("report.player.video.currentTime = 7.0")
    tab.assert_shows(7.0 + STEP_S)
    tab.page.click("#play")
    tab.page.wait_for_function("report.player.time > 7.6", timeout=30_000)
    tab.page.click("#play")
    assert tab.page.evaluate("report.player.video.paused")
    tab.assert_shows(tab.time())
    tab.page.evaluate("report.player.seek(1e9)")
    assert tab.time() == pytest.approx(END_S, abs=PICTURE_S)


def test_the_timeline_zooms_by_the_wheel(open_tab: Callable[[Path], Tab], drive_page: Path) -> None:
    tab = open_tab(drive_page)
    tab.page.mouse.move(tab.timeline_x(10.0), tab.timeline_y(0.3))
    tab.page.keyboard.down("Control")
    tab.page.mouse.wheel(0, -300)
    tab.page.keyboard.up("Control")
    tab.page.wait_for_function("document.querySelector('#timeline .plot')._fullLayout.xaxis.range[0] > 0.5")
    tab.page.mouse.click(tab.timeline_x(11.0), tab.timeline_y(0.5))
    tab.assert_shows(11.0, 0.1)
    tab.page.mouse.dblclick(tab.timeline_x(11.0), tab.timeline_y(0.5))
    tab.page.wait_for_function("document.querySelector('#timeline .plot')._fullLayout.xaxis.range[0] === 0")


def test_without_a_video_a_clock_moves_the_view_from_above(open_tab: Callable[[Path], Tab], tmp_path: Path) -> None:
    tab = open_tab(write_report(write_drive(tmp_path, has_stack=False, has_video=False)))
    assert tab.page.locator("#bird").is_visible()
    tab.page.click("#infractions tr[data-row='0']")
    assert tab.time() == HIT_S
    tab.page.click("#play")
    tab.page.wait_for_function(f"report.player.time > {HIT_S + 0.3}", timeout=30_000)
    tab.page.keyboard.press("Space")
    assert tab.cursor_time() == pytest.approx(tab.time(), abs=0.1)


def test_a_result_alone_and_a_suite_open_without_errors(
    open_tab: Callable[[Path], Tab], drive_page: Path, tmp_path: Path
) -> None:
    (tmp_path / "alone").mkdir()
    shutil.copy(drive_page.parent / "result.json", tmp_path / "alone")
    open_tab(write_report(tmp_path / "alone"))
    write_suite(tmp_path / "suite", drive_page.parent)
    tab = open_tab(write_report(tmp_path / "suite"))
    names = "[...document.querySelectorAll('.drives tbody tr')].map((row) => row.cells[1].innerText)"
    tab.page.click("th:text('score 2.0')")
    assert tab.page.evaluate(names) == ["bad", "good"]
    tab.page.click("th:text('score 2.0')")
    assert tab.page.evaluate(names) == ["good", "bad"]
    tab.page.click("a:text('bad')")
    tab.page.wait_for_function("window.report && report.player")
    assert "made <up>" in tab.page.inner_text("h1")


def test_columns_and_plots_of_a_suite_can_be_seen_whatever_the_window(
    open_tab: Callable[[Path], Tab], drive_page: Path, tmp_path: Path
) -> None:
    """They fit on a wide screen, and can be scrolled to on a narrow one."""
    write_suite(tmp_path, drive_page.parent)
    content = (tmp_path / "suite.json").read_text()
    name = "towns_98_VanillaSignalizedTurnEncounterRedLight"
    (tmp_path / "bad").rename(tmp_path / name)
    (tmp_path / "suite.json").write_text(content.replace('"bad"', f'"{name}"'))
    page = open_tab(write_report(tmp_path)).page
    hidden = "([box, table]) => table.getBoundingClientRect().right - box.getBoundingClientRect().right"
    for width, scrolled in ((1400, 0), (700, 10_000)):
        page.set_viewport_size({"width": width, "height": 900})
        table = page.query_selector(".drives")
        assert table is not None
        box = table.evaluate_handle(
            "(table, by) => { table.parentNode.scrollLeft = by; return table.parentNode }", scrolled
        )
        assert page.evaluate(hidden, [box, table]) < 2.0
        page.wait_for_timeout(300.0)  # plotly follows the window
        heights = (
            "[...document.querySelectorAll('.plots .main-svg')].map((drawn) => drawn.getBoundingClientRect().height)"
        )
        assert min(page.evaluate(heights)) > 200.0


def test_a_real_drive_into_a_parked_car(open_tab: Callable[[Path], Tab], city_server: Address, tmp_path: Path) -> None:
    scenario = load_scenario("parked_car").model_copy(update={"timeout_s": 9.0})
    figures = run(scenario, Options(address=city_server, out=tmp_path, agent="straight", rig="compact")).figures
    (hit,) = figures["infraction_log"][:1]
    assert hit["kind"] == "collision_vehicle"
    tab = open_tab(write_report(tmp_path))
    tab.page.click("#infractions tr[data-row='0']")
    tab.assert_shows(hit["time_s"])
    assert tab.page.evaluate("report.player.video.videoWidth") > 0
