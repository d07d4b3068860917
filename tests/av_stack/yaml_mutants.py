"""Mutated scenario and configuration files: mutant k of a seed is made from (seed, k) alone.

    python -m tests.av_stack.yaml_mutants --count 1000 --seed 1

loads each mutant and ends with status 1 when one raises anything but ConfigError, or takes too long.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from av_core.errors import ConfigError
from av_stack.calibration import load_lens
from perception.lanes.road_view import road_view
from scenarios.model import FOLDER as SCENARIOS
from scenarios.model import load_scenario
from sim_configs.load import FOLDER as CONFIGS
from sim_configs.load import load_rig, load_stack, load_weather

TIME_MAX_S = 5.0

LENS = """width_px: 1280
height_px: 720
focal_px: [1150.0, 1148.0]
centre_px: [640.0, 360.0]
distortion: [-0.24, 0.02, 0.0, 0.0, 0.0]
error_px: 0.4
pictures: 20
"""

STACK = """planning:
  route: {spacing_m: 0.5, cell_m: 5.0}
  speed: {horizon_s: 7.0, step_s: 0.1}
control:
  step_s: 0.05
  longitudinal:
    gain_per_s: [[0.0, 2.0], [5.0, 1.6]]
"""

ODD_VALUES = (
    "", "~", "yes", "-1", "0", "-0.0", "1e400", ".nan", "-.inf", ".inf", "1e308", "1e-320", "0x7fffffffffffffff",
    "99999999999999999999999999", "9" * 5000, "0x" + "f" * 5000, "2020-13-44", "2020-01-01 25:61:61", "12:30:45", "[]",
    "{}", "[1, [2, [3]]]", "{a: {b: c}}", "'text'", '"\\0"', '"\\ud800"', '"\\e[31m"', "x" * 300, "../../etc/passwd",
    "a\\0.yaml", "/dev/zero.yaml", "!!binary aGk=", "!!int abc", "!!float '1_'", "!!bool 3", "!!timestamp x",
    "!!set {a, b}", "!!python/object/apply:os.getcwd []", "!!omap [a: 1]", "!custom 1", "*nothing", "&x [*x]", "&y 1",
    "<<", "=", "| \n  block", "> \n folded", "%TAG", "@at", "`tick", "600 s", "1,5", "１２", "é", "\u2028", "𝟙",
)  # fmt: skip
"""Values that a key is given instead of its own."""


@dataclass(slots=True)
class Findings:
    """What a fuzz run saw; `faults` lists each mutant that broke a rule."""

    mutants: int = 0
    accepted: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    faults: list[str] = field(default_factory=list)


def _scenario(path: Path) -> None:
    load_scenario(str(path))


def _rig(path: Path) -> None:
    for camera in load_rig(str(path)).cameras:
        road_view(camera)


def _weather(path: Path) -> None:
    load_weather(str(path), ())


def _stack(path: Path) -> None:
    load_stack(str(path))


def _lens(path: Path) -> None:
    load_lens(path)


def subjects() -> list[tuple[str, Callable[[Path], None]]]:
    """(text, loader) of every kind of YAML file that the project reads."""
    return [
        ((SCENARIOS / "town_drive.yaml").read_text(), _scenario),
        ((CONFIGS / "rigs" / "full.yaml").read_text(), _rig),
        ((CONFIGS / "weather" / "fog.yaml").read_text(), _weather),
        (STACK, _stack),
        (LENS, _lens),
    ]


def mutant(text: str, rng: random.Random) -> bytes:
    """`text` after one to four random mutations."""
    data = text.encode()
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(MUTATIONS)(data, rng)
    return data


def _change_value(data: bytes, rng: random.Random) -> bytes:
    lines = data.decode("utf-8", "replace").splitlines()
    numbers = [i for i, line in enumerate(lines) if ":" in line]
    if not numbers:
        return data
    at = rng.choice(numbers)
    lines[at] = f"{lines[at].split(':')[0]}: {rng.choice(ODD_VALUES)}"
    return "\n".join(lines).encode("utf-8", "replace")


def _change_token(data: bytes, rng: random.Random) -> bytes:
    """Replace one number by an odd value."""
    text = data.decode("utf-8", "replace")
    spans = [i for i, char in enumerate(text) if char.isdigit() and (i == 0 or not text[i - 1].isalnum())]
    if not spans:
        return data
    at = rng.choice(spans)
    end = at
    while end < len(text) and (text[end].isdigit() or text[end] == "."):
        end += 1
    return (text[:at] + rng.choice(ODD_VALUES) + text[end:]).encode("utf-8", "replace")


def _change_key(data: bytes, rng: random.Random) -> bytes:
    lines = data.decode("utf-8", "replace").splitlines()
    if not lines:
        return data
    at = rng.randrange(len(lines))
    lines[at] = rng.choice((lines[at].replace(":", "x:", 1), lines[at].upper(), lines[at].replace(":", "", 1)))
    return "\n".join(lines).encode("utf-8", "replace")


def _move_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines()
    if len(lines) < 2:
        return data
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(4)
    if way == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif way == 1:
        lines.insert(a, lines[b])
    elif way == 2:
        del lines[a]
    else:
        lines[a] = b" " * rng.randrange(6) + lines[a].lstrip()
    return b"\n".join(lines)


def _change_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.choice((rng.randrange(256), *b"[]{}:,-&*!|>'\"%@`#?\t\n"))
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _nest(data: bytes, rng: random.Random) -> bytes:
    count = rng.choice((3, 30, 1000, 20_000))
    piece = rng.choice((b"[", b"{", b"{a: ", b"- ", b"? ", b"[[],", b"- - \n", b"[\n"))
    return data + b"\nnested: " + piece * count


def _multiply_aliases(data: bytes, rng: random.Random) -> bytes:
    each = rng.randint(2, 9)
    lines = [f"a0: &a0 [{','.join('x' * each)}]"]
    for level in range(1, rng.randint(2, 40)):
        body = ",".join([f"*a{level - 1}"] * each)
        lines.append(rng.choice((f"a{level}: &a{level} [{body}]", f"a{level}: &a{level} {{b: *a{level - 1}}}")))
    return "\n".join(lines).encode() + b"\n" + data


def _merge_keys(data: bytes, rng: random.Random) -> bytes:
    return b"m0: &m0 {seed: 1}\n" + b"<<: " + rng.choice((b"*m0", b"[*m0, *m0]", b"1", b"[1]")) + b"\n" + data


def _wrap(data: bytes, rng: random.Random) -> bytes:
    ways = (
        (b"- ", b""), (b"", b"\n---\n"), (b"\xff\xfe", b""), (b"\xef\xbb\xbf", b""), (b"%YAML 9.9\n---\n", b""),
        (b"", b"\n...\nx"),
    )  # fmt: skip
    before, after = rng.choice(ways)
    return before + data + after


def _lengthen(data: bytes, rng: random.Random) -> bytes:
    piece = rng.choice((b"# " + b"c" * 70 + b"\n", b"k: [1, 2, 3]\n", b"- 1\n", b"\n", b"x: 'y'\n"))
    return data + b"\n" + piece * rng.choice((10, 1000, 10_000))


MUTATIONS = (
    _change_value, _change_value, _change_token, _change_token, _change_key, _move_lines, _change_bytes, _cut, _nest,
    _multiply_aliases, _merge_keys, _wrap, _lengthen,
)  # fmt: skip


def fuzz(count: int, seed: int, folder: Path) -> Findings:
    """Load `count` mutants, each written to a file in `folder`, and collect the rules they break."""
    findings = Findings()
    kinds = subjects()
    path = folder / "mutant.yaml"
    for number in range(count):
        text, loader = kinds[number % len(kinds)]
        path.write_bytes(mutant(text, random.Random(f"{seed} {number}")))
        begin_s = time.process_time()
        try:
            loader(path)
            findings.accepted += 1
        except ConfigError as error:
            findings.refused += 1
            if str(path) not in str(error) and "unknown" not in str(error):
                findings.faults.append(f"mutant {number}: the message does not name the file: {error}")
            if len(str(error)) > 1000 or "Traceback" in str(error) or "Input should" in str(error):
                findings.faults.append(f"mutant {number}: unclear message: {str(error)[:300]}")
        except Exception:  # noqa: BLE001 - any other exception is what this looks for
            findings.faults.append(f"mutant {number}: {traceback.format_exc()}")
        taken_s = time.process_time() - begin_s
        findings.slowest_s = max(findings.slowest_s, taken_s)
        if taken_s > TIME_MAX_S:
            findings.faults.append(f"mutant {number}: {taken_s:.1f} s of CPU time")
        findings.mutants += 1
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(prog="yaml_mutants", description="Load mutated YAML files.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for yaml.json, the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        findings = fuzz(arguments.count, arguments.seed, Path(folder))
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "yaml.json").write_text(json.dumps(asdict(findings), indent=2) + "\n")
    print(
        f"{findings.mutants} mutated YAML files: {findings.accepted} accepted, {findings.refused} refused in one line, "
        f"slowest {findings.slowest_s:.1f} s, {len(findings.faults)} faults"
    )
    for fault in findings.faults[:20]:
        print(fault)
    sys.exit(1 if findings.faults else 0)


if __name__ == "__main__":
    main()
