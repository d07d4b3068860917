"""The command line `av-stack`: one function per command, which checks its arguments before it imports what it needs."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from av_core.errors import AvStackError, ConfigError, install_hint
from av_stack import __version__
from av_stack.checks import (
    check_known,
    check_maps_folder,
    check_out_folder,
    check_weights,
    parse_address,
    parse_list,
)
from av_stack.interruption import INTERRUPTED_STATUS, importing, leave, raise_on_signals, set_deadline
from av_stack.server_process import embedded_maps, kill_servers
from scenarios.limits import SEED_MAX

if TYPE_CHECKING:  # the commands import what they need themselves, so that --help and wrong arguments answer at once
    from av_core.types import SensorFrame, StepResult, Truth
    from av_stack.run import Options, Outcome
    from scenarios.judge import Judge
    from scenarios.model import Scenario

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Drive, measure and train an autonomous-driving stack in CARLA, or in the embedded server that comes with it.",
)
eval_app = typer.Typer(no_args_is_help=True, help="Measure perception: against the simulator, or on your own pictures.")
app.add_typer(eval_app, name="eval")
console = Console()


class OutcomeError(AvStackError):
    """A command that ran but whose outcome is bad: the message, and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_status = status


ORACLE_NAMES = ("detection", "lights")
"""Copy of `av_stack.pipeline.ORACLES`, which takes seconds to import; a test compares them."""
LISTED_KINDS = ("scenarios", "suites", "weathers", "rigs", "maps")
EVAL_PARTS = ("lanes", "ranging", "health", "lights", "detection", "dashcam")
DEVICES = ("auto", "cuda", "cpu")
"""Copy of `perception.device.DEVICES`, for the same reason."""

ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="HOST:PORT", help="A CARLA 0.9.16 server. Default: the embedded one.")
]
OutOption = Annotated[Path, typer.Option("--out", help="Folder for recording, video and result.")]
OracleOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help=f"Read these from the simulator instead of the camera: {', '.join(ORACLE_NAMES)} (comma-separated).",
    ),
]


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"av-stack {__version__}")
        raise typer.Exit


@app.callback()
def options_of_all(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None: ...


@app.command("run")
def run_command(
    scenario: Annotated[str, typer.Argument(help="Name of a scenario (av-stack list scenarios) or a YAML file.")],
    server: ServerOption = None,
    weather: Annotated[
        str | None, typer.Option(help="Name of a weather (av-stack list weathers) or a YAML file.")
    ] = None,
    oracle: OracleOption = "",
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEED_MAX, help="Seed of traffic and sensor noise. Default: the scenario's.")
    ] = None,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps for the embedded server.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights (.pt) of a detector. Default: those shipped.")] = None,
    device: Annotated[str, typer.Option(help=f"Where perception runs: {', '.join(DEVICES)}.")] = "auto",
    rig: Annotated[
        str | None,
        typer.Option(help="Cameras: compact, full or a YAML file. Default: full on a GPU, compact on a CPU."),
    ] = None,
    out: OutOption = Path("out"),
) -> None:
    """Drive a scenario; writes recording.mcap, drive.mp4 and result.json."""
    address, oracles = parse_address(server), parse_list(oracle)
    check_known("--oracle", oracles, ORACLE_NAMES)
    check_known("--device", [device], DEVICES)
    check_maps_folder(maps)
    check_out_folder(out)
    check_weights(weights)
    changes = {"weather": weather, "seed": seed}
    given = {name: value for name, value in changes.items() if value is not None}
    with importing():
        from scenarios.model import load_scenario

        driven = load_scenario(scenario).model_copy(update=given)

        from av_stack.report import table
        from av_stack.run import Options, check_settings, needed_weights
        from perception.device import resolve_device

        check_settings(driven, rig, address, maps)
    there, why = resolve_device(device, needed_weights(oracles) is not None)
    console.print(why, markup=False, soft_wrap=True)
    options = Options(address, maps, out, oracles, weights, there, rig)
    set_deadline(_give_up)
    outcome = drive_with_progress(driven, options)
    console.print(table(outcome.figures))
    console.print(f"wrote recording.mcap, drive.mp4 and result.json to {out}/", markup=False)
    if outcome.exit_status:
        what = outcome.figures["error"] or outcome.figures["recording_error"]
        raise OutcomeError(str(what), outcome.exit_status)


@app.command("suite")
def suite_command(
    suite: Annotated[str, typer.Argument(help="Name of a suite (av-stack list suites).")],
    maps: Annotated[Path | None, typer.Option(help="Folder with the towns' .xodr maps.")] = None,
    server: ServerOption = None,
    oracle: OracleOption = "",
    out: OutOption = Path("out"),
    resume: Annotated[bool, typer.Option("--resume", help="Skip the drives that are complete in --out.")] = False,
) -> None:
    """Drive the scenarios of a suite one after the other.

    The exit status is 1 when a drive does not reach its goal or commits an infraction.
    """
    address, oracles = parse_address(server), parse_list(oracle)
    check_known("--oracle", oracles, ORACLE_NAMES)
    check_maps_folder(maps)
    check_out_folder(out)
    with importing():
        from scenarios.suites import SUITES

        check_known("SUITE", [suite], tuple(SUITES))

        from av_stack.run import check_settings
        from av_stack.suite import drive_suite, suite_table

        for scenario in SUITES[suite]:
            check_settings(scenario, None, address, maps)
    entries = drive_suite(suite, SUITES[suite], out, maps, address, oracles, resume)
    console.print(suite_table(suite, entries))
    console.print(f"wrote suite.json, and a folder for each drive, to {out}/", markup=False)
    failed = [f"{entry['scenario']}: {what}" for entry in entries for what in entry["shortcomings"]]
    if failed:
        raise OutcomeError("; ".join(failed), 1)


@app.command("dataset")
def dataset_command(
    out: Annotated[Path, typer.Argument(help="Folder of the data set. Pictures that it holds already are kept.")],
    train: Annotated[int, typer.Option(min=0, help="Pictures to train on.")] = 30000,
    val: Annotated[int, typer.Option(min=0, help="Pictures for validation, from maps of their own.")] = 3000,
    train_maps: Annotated[str, typer.Option(help="Maps, comma-separated.")] = "city_grid,country_road,motorway",
    val_maps: Annotated[str, typer.Option(help="Maps, comma-separated.")] = "city_grid",
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Servers that render at the same time.")] = 2,
) -> None:
    """Render labelled pictures to train the detector with, in ultralytics' layout."""
    check_maps_folder(maps)
    check_out_folder(out, "OUT")
    for option, names in (("--train-maps", train_maps), ("--val-maps", val_maps)):
        if not parse_list(names):
            raise ConfigError(f"{option}: no map is named")
        check_known(option, parse_list(names), embedded_maps(maps))
    with importing():
        from av_stack.dataset import TRAINING, DatasetSpec, write_dataset
        from av_stack.world.carla_capture import CaptureSpec

    specs = [
        DatasetSpec("train", parse_list(train_maps), train, TRAINING, maps),
        DatasetSpec("val", parse_list(val_maps), val, CaptureSpec("", 0), maps),
    ]
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("episodes")
        summary = write_dataset(specs, out, workers, lambda done, of: progress.update(task, completed=done, total=of))
    console.print(
        f"{summary['frames']} pictures with {summary['objects']} objects in {out}/; "
        f"{summary['share_left_out']:.0%} of the objects are too small or hidden and have no label"
    )


@app.command("train")
def train_command(
    what: Annotated[str, typer.Argument(help="What to train: detector.")],
    data: Annotated[Path, typer.Argument(help="Folder that `av-stack dataset` wrote.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a stopped run is continued.")] = Path("out/detector"),
    size: Annotated[str, typer.Option(help="Size of YOLO26: n or s.")] = "n",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training pictures.")] = 60,
    hours: Annotated[float | None, typer.Option(help="Stop after this time instead.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Pictures in each step.")] = 64,
    device: Annotated[str, typer.Option(help="cpu, or the number of a GPU.")] = "cpu",
    start: Annotated[Path | None, typer.Option(help="Weights (.pt) of the same size to start from.")] = None,
) -> None:
    """Train the detector, from scratch or from --start."""
    check_known("WHAT", [what], ("detector",))
    check_known("--size", [size], ("n", "s"))
    if hours is not None and not 0.0 < hours < 1e6:
        raise ConfigError(f"--hours {hours}: needed is a number of hours above 0")
    if not (data / "dataset.yaml").is_file():
        raise ConfigError(f"{data} holds no dataset.yaml; `av-stack dataset {data}` makes one")
    check_out_folder(out)
    check_weights(start, "--start")
    if find_spec("ultralytics") is None:
        raise ConfigError(f"ultralytics is not installed; {install_hint('train')}")
    with importing():
        from perception.detection.train import TrainingSpec, train

    best = train(TrainingSpec(data, out, size, epochs, hours, batch, device=device, start=start))
    console.print(f"best weights: {best}")


@app.command("export")
def export_command(
    what: Annotated[str, typer.Argument(help="What to export: detector.")],
    weights: Annotated[Path, typer.Argument(help="Weights that `av-stack train` wrote.")],
    data: Annotated[Path, typer.Argument(help="Folder of `av-stack dataset`, to calibrate the network with.")],
) -> None:
    """Convert weights to the 8-bit network that runs on a CPU, and write it beside them."""
    check_known("WHAT", [what], ("detector",))
    check_weights(weights, "WEIGHTS")
    with importing():
        from perception.detection.quantize import quantize
        from perception.detection.weights import COMPACT_SIZE_PX, export

    pictures = sorted((data / "images" / "train").glob("*.jpg"))
    network = export(weights, COMPACT_SIZE_PX, weights.parent)
    quantize(network, pictures)
    console.print(f"network: {network.model}")


@app.command("calibrate")
def calibrate_command(
    pictures: Annotated[Path, typer.Argument(help="Folder with photographs of a chessboard, all from one camera.")],
    board: Annotated[str, typer.Option(metavar="COLUMNSxROWS", help="Inner corners of the board.")] = "9x6",
    out: Annotated[Path, typer.Option(help="Lens file to write.")] = Path("out/lens.yaml"),
) -> None:
    """Measure a camera's focal length and lens distortion from photographs of a chessboard."""
    columns, _, rows = board.partition("x")
    is_board = all(part.isascii() and part.isdecimal() and 3 <= int(part[:9]) <= 100 for part in (columns, rows))
    if not is_board:
        raise ConfigError(
            f"--board {board!r:.40}: needed is COLUMNSxROWS of inner corners, each from 3 to 100, for example 9x6"
        )
    if not pictures.is_dir():
        raise ConfigError(f"{pictures}: no such folder")
    if out.is_dir() or str(out) == ".":
        raise ConfigError(f"--out {out}: is a folder; needed is a file, for example out/lens.yaml")
    check_out_folder(out.parent if out.parent != Path(".") else None)
    with importing():
        from av_stack.calibration import calibrate_folder, write_lens

    lens, without = calibrate_folder(pictures, int(columns), int(rows))
    if without:
        console.print(f"left out, because the whole board is not found in them: {', '.join(without)}", markup=False)
    write_lens(lens, out)
    console.print(
        f"reprojection error {lens.error_px:.2f} px over {lens.pictures} pictures, "
        f"angle of view {lens.fov_x_rad * 57.2958:.1f} degrees; the lens is in {out}"
    )


@eval_app.command("perception")
def eval_perception_command(
    parts: Annotated[
        str, typer.Option(help=f"What to measure: {', '.join(EVAL_PARTS)} (comma-separated).")
    ] = "lanes,ranging,health",
    map_names: Annotated[str, typer.Option("--map", help="Names of maps, comma-separated.")] = "city_grid",
    weathers: Annotated[
        str, typer.Option(help="CARLA's weather presets, comma-separated. Default: all. Detection uses all.")
    ] = "",
    frames: Annotated[int, typer.Option(min=1, help="Scored pictures of each weather on each visit.")] = 8,
    places: Annotated[int, typer.Option(min=0, help="Standing places on each map, for lanes.")] = 4,
    drives: Annotated[int, typer.Option(min=0, help="Drives on each map, through all weathers.")] = 1,
    lights: Annotated[int, typer.Option(min=0, help="Stop lines with a traffic light on each map.")] = 4,
    scenes: Annotated[int, typer.Option(min=1, help="Rounds of pictures for detection.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of places, traffic and scenery.")] = 77,
    rig: Annotated[str, typer.Option(help="Rig; its first camera is used, for detection all ahead.")] = "compact",
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps; detection needs Town02.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights (.pt) of a detector. Default: those shipped.")] = None,
    dashcam: Annotated[Path | None, typer.Option(help="Folder with real pictures.")] = None,
    like: Annotated[
        str | None, typer.Option(help="Use the network of this device: cpu or cuda. Any machine can run both.")
    ] = None,
    out: OutOption = Path("out/eval"),
) -> None:
    """Compare perception with the simulator's truth in every weather; writes tables (JSON, Markdown) and pictures.

    A stopped run continues where it was when it is started again with the same options.
    """
    check_known("--parts", parse_list(parts), EVAL_PARTS)
    if like is not None:
        check_known("--like", [like], DEVICES[1:])
    check_maps_folder(maps)
    check_known("--map", parse_list(map_names), embedded_maps(maps))
    check_out_folder(out)
    check_weights(weights)
    with importing():
        from av_stack.evaluation.perception import EvalSpec, evaluate
        from av_stack.evaluation.table import rich_table
        from sim_configs.load import load_rig

    spec = EvalSpec(
        parse_list(parts), parse_list(map_names), parse_list(weathers), frames, places, drives, lights, scenes, seed,
        maps, weights, dashcam, like,
    )  # fmt: skip
    with console.status("starting") as status:
        tell = status.update if console.is_terminal else console.print  # a log gets a line for each step
        figures = evaluate(spec, load_rig(rig), out, tell)
    console.print(rich_table(figures))
    console.print(f"wrote perception.json, perception.md and figures/ to {out}/", markup=False)


@eval_app.command("pictures")
def eval_pictures_command(
    folder: Annotated[Path, typer.Argument(help="Folder with pictures and YOLO, Pascal VOC, COCO or KITTI labels.")],
    weights: Annotated[
        list[Path] | None,
        typer.Option(help="Weights to measure; give it several times to compare. Else the shipped n."),
    ] = None,
    classes: Annotated[
        str, typer.Option(help="What the class names mean: common, coco, carla_objects or a YAML file.")
    ] = "common",
    device: Annotated[str, typer.Option(help="Where the detector runs: auto, cuda or cpu.")] = "cpu",
    out: OutOption = Path("out/pictures"),
) -> None:
    """Measure detectors on labelled pictures: precision, recall by size, false detections, the worst pictures."""
    check_known("--device", [device], DEVICES)
    check_out_folder(out)
    for path in weights or ():
        check_weights(path)
    with importing():
        from av_stack.evaluation.pictures.evaluate import PicturesSpec, evaluate_pictures, pictures_table
        from perception.detection.weights import COMPACT
        from perception.device import resolve_device

    there, _ = resolve_device(device, has_weights=True)
    spec = PicturesSpec(folder, tuple(weights or (COMPACT,)), classes, there)
    with console.status("starting") as status:
        report = evaluate_pictures(spec, out, status.update)
    console.print(pictures_table(report))
    console.print(f"wrote pictures.json, pictures.md and sheets of the worst pictures to {out}/", markup=False)


@app.command("repair")
def repair_command(
    files: Annotated[list[Path], typer.Argument(help="recording.mcap and drive.mp4 files.", metavar="FILE...")],
) -> None:
    """Complete recordings and videos that were cut off; a file that is complete stays as it is."""
    from av_stack.recording.repair import repair

    for path in files:
        done = repair(path)
        if done.is_needed:
            console.print(f"{path}: repaired, {done.dropped_bytes} bytes of an unfinished part removed", soft_wrap=True)
        else:
            console.print(f"{path}: complete", soft_wrap=True)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def serve(context: typer.Context) -> None:
    """Start the embedded server alone; takes the options of `python -m embedded_carla` (av-stack serve --help)."""
    os.execv(sys.executable, [sys.executable, "-m", "embedded_carla", *context.args])


@app.command("list")
def list_command(
    kind: Annotated[str | None, typer.Argument(help=f"{', '.join(LISTED_KINDS)}. Default: all.")] = None,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
) -> None:
    """List the scenarios, suites, weathers, rigs and maps that there are."""
    check_maps_folder(maps)
    if kind is not None:
        check_known("KIND", [kind], LISTED_KINDS)
    with importing():
        from av_stack.listing import listing

    for title, rows in listing(maps).items():
        if kind in (None, title):
            console.print(f"[bold]{title}[/bold]")
            for name, about in rows:
                console.print(f"  {name:<24} {about}".rstrip(), markup=False, highlight=False, soft_wrap=True)


@app.command("doctor")
def doctor_command(
    server: ServerOption = None,
    out: OutOption = Path("out"),
) -> None:
    """Check what this machine has and lacks for a drive; for what is missing, show the command that helps.

    The exit status is 1 when something is missing that a drive needs.
    """
    address = parse_address(server)
    check_out_folder(out)
    with importing():
        from av_stack.doctor import examine

    findings = examine(address, out)
    for finding in findings:
        mark = "ok     " if finding.is_fine else "MISSING" if finding.is_needed else "absent "
        console.print(f"{mark} {finding.what:<10} {finding.detail}", markup=False, highlight=False, soft_wrap=True)
        if finding.remedy:
            console.print(f"{'':<18} {finding.remedy}", markup=False, highlight=False, soft_wrap=True)
    missing = [finding.what for finding in findings if finding.is_needed and not finding.is_fine]
    if missing:
        raise OutcomeError(f"missing for a drive: {', '.join(missing)}", 1)


def drive_with_progress(scenario: Scenario, options: Options) -> Outcome:
    """Call `run` with a progress bar that shows distance, speed and what limits the speed."""
    from av_stack.run import run

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[say]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(scenario.name, total=None, say="loading")

        def watch(frame: SensorFrame, step: StepResult, truth: Truth, judge: Judge) -> None:
            if frame.stamp.frame % 5 == 0:
                say = f"{judge.progress_m:5.0f} m  {3.6 * truth.ego_speed_mps:5.1f} km/h  {step.plan.constraint}"
                progress.update(task, total=judge.route_length_m, completed=judge.progress_m, say=say)

        def abandon(message: str, status: int) -> None:
            """Print the message and exit, before the wheel's own thread ends the process."""
            progress.stop()
            _say_error(message)
            os._exit(status)

        return run(scenario, replace(options, abandon=abandon), watch)


def _say_error(message: str) -> None:
    line = " ".join(message.split())
    # no escape codes for the terminal
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
    print(f"av-stack: {shown}", file=sys.stderr, flush=True)


def _give_up() -> None:
    """End the process at once, and its servers with it."""
    kill_servers()
    _say_error("interrupted")
    os._exit(INTERRUPTED_STATUS)


def main() -> None:
    """Entry point: an error for people is one line on stderr and a nonzero exit status."""
    raise_on_signals()
    try:
        status = app(standalone_mode=False) or 0  # typer returns the status of its own Exit, and turns Ctrl-C into one
        if status == INTERRUPTED_STATUS:
            _say_error("interrupted")
        leave(status)
    except AvStackError as error:
        _say_error(str(error))
        leave(error.exit_status)
    except OSError as error:  # a full disk, or a folder without write permission
        _say_error(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        sys.exit(AvStackError.exit_status)
    except typer.TyperException as error:
        _say_error(error.format_message().replace("Input should be", "it has to be"))  # pydantic's wording
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _say_error("interrupted")
        leave(INTERRUPTED_STATUS)


if __name__ == "__main__":
    main()
