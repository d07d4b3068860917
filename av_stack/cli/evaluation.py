"""The commands that measure perception: eval perception and eval pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from av_stack.checks import check_known, check_maps_folder, check_out_folder, check_weights, chosen_detector, parse_list
from av_stack.cli.options import DEVICES, EVAL_PARTS, DetectorOption, OutOption
from av_stack.cli.output import console
from av_stack.interruption import importing
from av_stack.server_process import embedded_maps
from perception.detection.weights import COMPACT, DETECTORS


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
    rig: Annotated[
        str, typer.Option(help="Rig. Its first camera is used; for detection, all cameras that look ahead.")
    ] = "compact",
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps; detection needs Town02.")] = None,
    detector: DetectorOption = None,
    weights: Annotated[Path | None, typer.Option(help="Weights (.pt) of a detector. Default: shipped.")] = None,
    dashcam: Annotated[Path | None, typer.Option(help="Folder with real pictures.")] = None,
    like: Annotated[
        str | None, typer.Option(help="Use the detector that drives on this device: cpu or cuda. Both run anywhere.")
    ] = None,
    out: OutOption = Path("out/eval"),
) -> None:
    """Compare perception with the simulator's truth in every weather; writes tables (JSON, Markdown) and pictures.

    A stopped run resumes when it is started again with the same options.
    """
    check_known("--parts", parse_list(parts), EVAL_PARTS)
    if like is not None:
        check_known("--like", [like], DEVICES[1:])
    check_maps_folder(maps)
    check_known("--map", parse_list(map_names), embedded_maps(maps))
    check_out_folder(out)
    weights = chosen_detector(detector, weights)
    with importing():
        from av_stack.evaluation.perception import EvalSpec, evaluate
        from av_stack.evaluation.table import rich_table
        from sim_configs.load import load_rig

    spec = EvalSpec(
        parse_list(parts), parse_list(map_names), parse_list(weathers), frames, places, drives, lights, scenes, seed,
        maps, weights, dashcam, like,
    )  # fmt: skip
    with console.status("starting") as status:
        tell = status.update if console.is_terminal else console.print  # in a log file, one line for each step
        figures = evaluate(spec, load_rig(rig), out, tell)
    console.print(rich_table(figures))
    console.print(f"wrote perception.json, perception.md and figures/ to {out}/", markup=False)


def eval_pictures_command(
    folder: Annotated[Path, typer.Argument(help="Folder with pictures and YOLO, Pascal VOC, COCO or KITTI labels.")],
    detector: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Shipped detector to measure: {', '.join(DETECTORS)}; repeatable."),
    ] = None,
    weights: Annotated[
        list[Path] | None,
        typer.Option(help="Weights to measure; repeatable, to compare several. Default: the shipped size n."),
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
    check_known("--detector", detector or (), DETECTORS)
    for path in weights or ():
        check_weights(path)
    with importing():
        from av_stack.evaluation.pictures.evaluate import PicturesSpec, evaluate_pictures, pictures_table
        from perception.device import resolve_device

    there, _ = resolve_device(device, has_weights=True)
    files = [DETECTORS[name] for name in detector or ()] + list(weights or ())
    spec = PicturesSpec(folder, tuple(files or [COMPACT]), classes, there)
    with console.status("starting") as status:
        report = evaluate_pictures(spec, out, status.update)
    console.print(pictures_table(report))
    console.print(f"wrote pictures.json, pictures.md and sheets of the worst pictures to {out}/", markup=False)
