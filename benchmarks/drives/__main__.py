"""`python -m benchmarks.drives` puts suites that several variants drove side by side.

    av-stack suite quick --out DIR/stack
    av-stack suite quick --oracle detection --out DIR/detection
    python -m benchmarks.drives --suite stack=DIR/stack --suite "oracle detection=DIR/detection" --json FILE

The first variant is the one that the others are compared with. A variant may be given several suites. With `--page`,
the tables replace what stands between the lines `markdown_tables.marks(MARK)` of a Markdown page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import markdown_tables
from benchmarks.drives import both, read_study


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drives", description=__doc__)
    parser.add_argument("--suite", action="append", required=True, metavar="VARIANT=DIR", help="may be given again")
    parser.add_argument("--json", type=Path, help="the file to write")
    parser.add_argument("--page", type=Path, help="Markdown file whose marked part becomes the tables")
    parser.add_argument("--mark", help="name of the marked part")
    given = parser.parse_args()
    pairs = [suite.partition("=") for suite in given.suite]
    study = read_study([(variant, Path(folder)) for variant, _, folder in pairs])
    text = both(study)
    print(text)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(study, indent=1, ensure_ascii=False) + "\n")
    if given.page:
        given.page.write_text(markdown_tables.placed(given.page.read_text(), given.mark, text))


if __name__ == "__main__":
    main()
