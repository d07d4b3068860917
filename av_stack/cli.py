"""`av-stack`: the command line."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from av_stack.errors import AvStackError, ConfigError
from av_stack.interruption import raise_on_signals, set_deadline
from av_stack.pipeline import ORACLES
from av_stack.report import table
from av_stack.run import INTERRUPTED_STATUS, Options, Outcome, check_oracles, needed_weights, run
from av_stack.server_process import kill_servers
from av_stack.suite import drive_suite, suite_table
from av_stack.types import SensorFrame, StepResult, Truth
from av_stack.world.spec import Address
from perception.device import chosen_device
from scenarios.judge import Judge
from scenarios.model import Scenario, load_scenario
from scenarios.suites import SUITES

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
eval_app = typer.Typer(no_args_is_help=True, help="Measure perception: against the simulator, or on your own pictures.")
app.add_typer(eval_app, name="eval")
console = Console()


class OutcomeError(AvStackError):
    """What was asked for was done, and went wrong: what to say, and the status to end with."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_status = status


ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="HOST:PORT", help="A CARLA 0.9.16 server; else the embedded one.")
]
OutOption = Annotated[Path, typer.Option("--out", help="Folder for recording, video and result.")]
OracleOption = Annotated[
    str,
    typer.Option(help=f"Modules answered by the simulator instead of the camera, with commas: {', '.join(ORACLES)}."),
]


@app.command("run")
def run_command(
    scenario: Annotated[str, typer.Argument(help="Name of a scenario, or a YAML file.")],
    server: ServerOption = None,
    weather: Annotated[str | None, typer.Option(help="CARLA's preset or one of sim_configs/weather.")] = None,
    oracle: OracleOption = "",
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's own.")] = None,
    maps: Annotated[Path | None, typer.Option(help="More .xodr maps for the embedded server.")] = None,
    weights: Annotated[Path | None, typer.Option(help="A detector's weights instead of those shipped.")] = None,
    device: Annotated[str, typer.Option(help="Where perception runs: auto, cuda or cpu.")] = "auto",
    rig: Annotated[
        str | None, typer.Option(help="Cameras: compact, full or a YAML file; on a GPU full, else compact.")
    ] = None,
    out: OutOption = Path("out"),
) -> None:
    """Drive a scenario and leave recording.mcap, drive.mp4 and result.json behind."""
    changes = {"weather": weather, "seed": seed}
    given = {name: value for name, value in changes.items() if value is not None}
    table_of = load_scenario(scenario).model_copy(update=given)
    oracles = _names(oracle)
    check_oracles(oracles)
    there, why = chosen_device(device, needed_weights(oracles) is not None)
    console.print(why, markup=False, soft_wrap=True)
    options = Options(_address(server), _folder(maps), out, oracles, weights, there, rig)
    set_deadline(_give_up)
    outcome = drive_with_progress(table_of, options)
    console.print(table(outcome.figures))
    console.print(f"recording, video and result are in {out}/")
    if outcome.exit_status:
        what = outcome.figures["error"] or outcome.figures["recording_error"]
        raise OutcomeError(str(what), outcome.exit_status)


@app.command("suite")
def suite_command(
    suite: Annotated[str, typer.Argument(help=f"Name of a suite: {', '.join(SUITES)}.")],
    maps: Annotated[Path | None, typer.Option(help="Folder with the towns' .xodr maps.")] = None,
    server: ServerOption = None,
    oracle: OracleOption = "",
    out: OutOption = Path("out"),
    resume: Annotated[bool, typer.Option("--resume", help="Keep the drives that came to their end in --out.")] = False,
) -> None:
    """Drive a suite, one scenario after the other; status 1 where one does not arrive, or not without an infraction."""
    if suite not in SUITES:
        raise ConfigError(f"unknown suite {suite}; there are {', '.join(SUITES)}")
    address, folder, oracles = _address(server), _folder(maps), _names(oracle)
    check_oracles(oracles)
    entries = drive_suite(suite, SUITES[suite], out, folder, address, oracles, resume)
    console.print(suite_table(suite, entries))
    console.print(f"suite.json and the drives' files are in {out}/")
    failed = [f"{entry['scenario']}: {what}" for entry in entries for what in entry["shortcomings"]]
    if failed:
        raise OutcomeError("; ".join(failed), 1)


@app.command("dataset")
def dataset_command(
    out: Annotated[Path, typer.Argument(help="Folder of the data set; what is there already is not made again.")],
    train: Annotated[int, typer.Option(min=0, help="Pictures to train on.")] = 30000,
    val: Annotated[int, typer.Option(min=0, help="Pictures to measure on, from maps of their own.")] = 3000,
    train_maps: Annotated[str, typer.Option(help="Map names, with commas.")] = "city_grid,country_road,motorway",
    val_maps: Annotated[str, typer.Option(help="Map names, with commas.")] = "city_grid",
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Servers that render at the same time.")] = 2,
) -> None:
    """Render labelled pictures for the detector: ultralytics' layout, and every object with range and weather."""
    from av_stack.dataset import TRAINING, DatasetSpec, write_dataset
    from av_stack.world.carla_capture import CaptureSpec

    folder = _folder(maps)
    specs = [
        DatasetSpec("train", tuple(train_maps.split(",")), train, TRAINING, folder),
        DatasetSpec("val", tuple(val_maps.split(",")), val, CaptureSpec("", 0), folder),
    ]
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("episodes")
        summary = write_dataset(specs, out, workers, lambda done, of: progress.update(task, completed=done, total=of))
    console.print(
        f"{summary['frames']} pictures with {summary['objects']} objects in {out}/; "
        f"left out as too small or hidden: {summary['share_left_out']:.0%}"
    )


@app.command("train")
def train_command(
    what: Annotated[str, typer.Argument(help="What to train: detector.")],
    data: Annotated[Path, typer.Argument(help="Folder that `av-stack dataset` wrote.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a stopped run there goes on.")] = Path("out/detector"),
    size: Annotated[str, typer.Option(help="YOLO26's size: n or s.")] = "n",
    epochs: Annotated[int, typer.Option(min=1)] = 60,
    hours: Annotated[float | None, typer.Option(help="End after this time instead.")] = None,
    batch: Annotated[int, typer.Option(min=1)] = 64,
    device: Annotated[str, typer.Option(help="cpu, or the number of a GPU.")] = "cpu",
    start: Annotated[Path | None, typer.Option(help="Weights of that size to train on from.", exists=True)] = None,
) -> None:
    """Train the detector, from scratch unless told otherwise."""
    if what != "detector":
        raise ConfigError(f"unknown model {what}; there is: detector")
    if not (data / "dataset.yaml").is_file():
        raise ConfigError(f"{data} holds no dataset.yaml: make it with `av-stack dataset {data}`")
    if find_spec("ultralytics") is None:
        raise ConfigError("ultralytics is not installed: pip install -c constraints.txt 'av-stack[train]'")
    from perception.detection.train import TrainingSpec, train

    best = train(TrainingSpec(data, out, size, epochs, hours, batch, device=device, start=start))
    console.print(f"best weights: {best}")


@app.command("export")
def export_command(
    what: Annotated[str, typer.Argument(help="What to export: detector.")],
    weights: Annotated[Path, typer.Argument(help="Weights that `av-stack train` wrote.")],
    data: Annotated[Path, typer.Argument(help="Folder that `av-stack dataset` wrote: ranges are measured on it.")],
) -> None:
    """Write the network that the CPU runs beside the weights, in eight bits."""
    from perception.detection.quantize import quantize
    from perception.detection.weights import COMPACT_SIZE_PX, export

    if what != "detector":
        raise ConfigError(f"unknown model {what}; there is: detector")
    if not weights.is_file():
        raise ConfigError(f"{weights}: no such file")
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
    """Find a camera's focal length and distortion, for pictures to be freed of it."""
    from av_stack.calibration import calibrate_folder, write_lens

    columns, _, rows = board.partition("x")
    if not (columns.isdigit() and rows.isdigit() and min(int(columns), int(rows)) >= 3):
        raise ConfigError(f"--board {board}: needed is COLUMNSxROWS of inner corners, each 3 or more, for example 9x6")
    if not pictures.is_dir():
        raise ConfigError(f"{pictures}: no such folder")
    lens, without = calibrate_folder(pictures, int(columns), int(rows))
    if without:
        console.print(f"without the whole board, left out: {', '.join(without)}")
    write_lens(lens, out)
    console.print(
        f"reprojection error {lens.error_px:.2f} px over {lens.pictures} pictures, "
        f"angle of view {lens.fov_x_rad * 57.2958:.1f} degrees; the lens is in {out}"
    )


@eval_app.command("perception")
def eval_perception_command(
    parts: Annotated[
        str, typer.Option(help="Of lanes, ranging, health, lights, detection, dashcam, with commas.")
    ] = "lanes,ranging,health",
    map_names: Annotated[str, typer.Option("--map", help="Maps to look at, with commas.")] = "city_grid",
    weathers: Annotated[
        str, typer.Option(help="CARLA's presets, with commas; all by default. Detection takes all.")
    ] = "",
    frames: Annotated[int, typer.Option(min=1, help="Scored pictures of each weather on each visit.")] = 8,
    places: Annotated[int, typer.Option(min=0, help="Standing places on each map, for lanes.")] = 4,
    drives: Annotated[int, typer.Option(min=0, help="Drives on each map, through all weathers.")] = 1,
    lights: Annotated[int, typer.Option(min=0, help="Stop lines with a traffic light on each map.")] = 4,
    scenes: Annotated[int, typer.Option(min=1, help="Rounds of detection's own pictures.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of places, traffic and scenery.")] = 77,
    rig: Annotated[str, typer.Option(help="Rig whose first camera looks (for detection: all ahead).")] = "compact",
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps; detection needs Town02.")] = None,
    weights: Annotated[Path | None, typer.Option(help="A detector's weights instead of those shipped.")] = None,
    dashcam: Annotated[Path | None, typer.Option(help="Folder with the real pictures.")] = None,
    like: Annotated[
        str | None, typer.Option(help="Detect as a drive on this device does, cpu or cuda, whichever is here.")
    ] = None,
    out: OutOption = Path("out/eval"),
) -> None:
    """Compare perception with the simulator's truth, weather by weather: a table in JSON and markdown, and pictures.

    A run that was stopped goes on where it was when it is started again with the same options.
    """
    from av_stack.evaluation.perception import EvalSpec, evaluate
    from av_stack.evaluation.table import rich_table
    from sim_configs.load import load_rig

    spec = EvalSpec(
        _names(parts), _names(map_names), _names(weathers), frames, places, drives, lights, scenes, seed,
        _folder(maps), weights, dashcam, like,
    )  # fmt: skip
    with console.status("starting") as status:
        tell = status.update if console.is_terminal else console.print  # a log gets a line for each step
        figures = evaluate(spec, load_rig(rig), out, tell)
    console.print(rich_table(figures))
    console.print(f"perception.json, perception.md and figures/ are in {out}/")


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
    from av_stack.evaluation.pictures.evaluate import PicturesSpec, evaluate_pictures, pictures_table
    from perception.detection.weights import COMPACT

    there, _ = chosen_device(device, has_weights=True)
    spec = PicturesSpec(folder, tuple(weights or (COMPACT,)), classes, there)
    with console.status("starting") as status:
        report = evaluate_pictures(spec, out, status.update)
    console.print(pictures_table(report))
    console.print(f"pictures.json, pictures.md and the sheets of the worst pictures are in {out}/")


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
    """Start the embedded server alone; takes the options of `python -m embedded_carla`."""
    os.execv(sys.executable, [sys.executable, "-m", "embedded_carla", *context.args])


def drive_with_progress(scenario: Scenario, options: Options) -> Outcome:
    """`run` with a bar that shows distance, speed and what binds the speed."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[say]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(scenario.name, total=None, say="loading")

        def watch(frame: SensorFrame, step: StepResult, truth: Truth, judge: Judge) -> None:
            if frame.stamp.frame % 5 == 0:
                say = f"{judge.progress_m:5.0f} m  {3.6 * truth.ego_speed_mps:5.1f} km/h  {step.plan.constraint}"
                progress.update(task, total=judge.route_length_m, completed=judge.progress_m, say=say)

        def abandon(message: str, status: int) -> None:
            """Say what happened and go, before the wheel's own thread ends the process."""
            progress.stop()
            _say_error(message)
            os._exit(status)

        return run(scenario, replace(options, abandon=abandon), watch)


def _address(server: str | None) -> Address | None:
    if server is None:
        return None
    host, _, port = server.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65535:
        raise ConfigError(f"--server {server}: needed is HOST:PORT, for example 127.0.0.1:2000")
    return Address(host, int(port))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _folder(maps: Path | None) -> Path | None:
    if maps is not None and not maps.is_dir():
        raise ConfigError(f"--maps {maps}: no such folder")
    return maps


def _say_error(message: str) -> None:
    print(f"av-stack: {' '.join(message.split())}", file=sys.stderr, flush=True)


def _give_up() -> None:
    """End at once, with nothing left behind."""
    kill_servers()
    _say_error("interrupted")
    os._exit(INTERRUPTED_STATUS)


def main() -> None:
    """Entry point: errors for people are one line on stderr and a status that is not 0."""
    raise_on_signals()
    try:
        status = app(standalone_mode=False) or 0  # typer returns the status of its own Exit, and makes one of Ctrl-C
        if status == INTERRUPTED_STATUS:
            _say_error("interrupted")
        sys.exit(status)
    except AvStackError as error:
        _say_error(str(error))
        sys.exit(error.exit_status)
    except OSError as error:  # a full disk, a folder that may not be written to
        _say_error(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        sys.exit(AvStackError.exit_status)
    except typer.TyperException as error:
        _say_error(error.format_message())
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _say_error("interrupted")
        sys.exit(INTERRUPTED_STATUS)


if __name__ == "__main__":
    main()
