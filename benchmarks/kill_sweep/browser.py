"""Plays the last second of every video of a kill sweep in a browser: `python browser.py FOLDER CHROMIUM`.

FOLDER is the output folder of `python -m benchmarks.kill_sweep`. It needs playwright, which `.[dev]` has. It writes
FOLDER/browser.json. A video is good if the browser plays it to its last picture.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

END_TOLERANCE_S = 0.15  # one and a half pictures at 10 per second
PLAY = """async (source) => {
  const video = document.createElement('video');
  video.muted = true;
  document.body.replaceChildren(video);
  const when = (name) => new Promise((done) => {
    video.addEventListener(name, () => done(true), {once: true});
    video.addEventListener('error', () => done(false), {once: true});
    setTimeout(() => done(false), 15000);
  });
  const loaded = when('loadeddata');
  video.src = source;
  if (!await loaded) return {error: video.error ? video.error.message : 'it does not load'};
  const sought = when('seeked');
  video.currentTime = Math.max(0, video.duration - 1);
  if (!await sought) return {error: 'it does not seek', duration_s: video.duration};
  const ended = when('ended');
  await video.play();
  const played = await ended;
  return {duration_s: video.duration, end_s: video.currentTime, error: played ? null : 'it does not play to its end'};
}"""


def main() -> int:
    folder, chromium = Path(sys.argv[1]).resolve(), sys.argv[2]
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    found: dict[str, Any] = {}
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--allow-file-access-from-files"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page()
        page.goto(f"file://{folder}/kill_sweep.json")
        for case in cases:
            path = folder / case["name"] / ("out" if case["target"] else "kept") / "drive.mp4"
            if path.exists():
                found[case["name"]] = _judged(page.evaluate(PLAY, f"file://{path}"), case["video_s"])
        version = browser.version
        browser.close()
    bad = {name: result for name, result in found.items() if result["error"]}
    figures = {"browser": f"Chromium {version}", "videos": len(found), "played_to_their_end": len(found) - len(bad)}
    (folder / "browser.json").write_text(json.dumps({**figures, "bad": bad}, indent=1) + "\n")
    print(json.dumps({**figures, "bad": bad}, indent=1))
    return 1 if bad else 0


def _judged(result: dict[str, Any], last_picture_s: float) -> dict[str, Any]:
    """The browser's result, with an error if it ended before the last picture that FFmpeg decodes."""
    if not result["error"] and result["end_s"] < last_picture_s - END_TOLERANCE_S:
        result["error"] = f"it ends at {result['end_s']:.2f} s, the last picture is at {last_picture_s:.2f} s"
    return result


if __name__ == "__main__":
    raise SystemExit(main())
