"""The command line `av-stack`: the table of its commands, and its entry point."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from av_core.errors import AvStackError
from av_stack import __version__
from av_stack.cli.adapt import adapt_command
from av_stack.cli.attach import attach_command
from av_stack.cli.drive import run_command
from av_stack.cli.evaluation import eval_perception_command, eval_pictures_command
from av_stack.cli.leaderboard import lint_command, types_command
from av_stack.cli.networks import prune_command, quantize_command, receptive_field_command
from av_stack.cli.operators import operators_command
from av_stack.cli.output import say_error
from av_stack.cli.placing import place_command
from av_stack.cli.recorded.explain import explain_command
from av_stack.cli.recorded.replay import replay_command
from av_stack.cli.report import report_command
from av_stack.cli.roofline import roofline_command
from av_stack.cli.suite import suite_command
from av_stack.cli.tools import calibrate_command, doctor_command, list_command, repair_command, serve_command
from av_stack.cli.training.dataset import dataset_app
from av_stack.cli.training.detector import export_command, train_command
from av_stack.cli.tune import tune_command
from av_stack.cli.weather import look_command, weather_command
from av_stack.interruption import INTERRUPTED_STATUS, leave, raise_on_signals
from av_stack.viewing.commands import dashboard_command, view_command

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Drive, measure and train an autonomous-driving stack in CARLA, or in the embedded server that comes with it.",
)
eval_app = typer.Typer(no_args_is_help=True, help="Measure perception: against the simulator, or on your own pictures.")
app.add_typer(eval_app, name="eval")
scenarios_app = typer.Typer(
    no_args_is_help=True, help="Check CARLA Leaderboard routes, find places for scenarios, and list their types."
)
app.add_typer(scenarios_app, name="scenarios")

app.command("run")(run_command)
app.command("view")(view_command)
with_options_of_run = {"allow_extra_args": True, "ignore_unknown_options": True}
app.command("dashboard", context_settings=with_options_of_run)(dashboard_command)
app.command("replay")(replay_command)
app.command("explain")(explain_command)
app.command("suite")(suite_command)
app.command("weather")(weather_command)
app.command("weather-look", hidden=True)(look_command)  # run by the processes that `av-stack weather` starts
app.command("attach")(attach_command)
app.add_typer(dataset_app, name="dataset")
app.command("train")(train_command)
app.command("export")(export_command)
app.command("quantize")(quantize_command)
app.command("prune")(prune_command)
app.command("adapt")(adapt_command)
app.command("tune")(tune_command)
app.command("calibrate")(calibrate_command)
app.command("report")(report_command)
app.command("repair")(repair_command)
all_to_the_server = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
app.command("serve", context_settings=all_to_the_server)(serve_command)
app.command("list")(list_command)
app.command("doctor")(doctor_command)
app.command("operators")(operators_command)
app.command("roofline")(roofline_command)
app.command("receptive-field")(receptive_field_command)
eval_app.command("perception")(eval_perception_command)
eval_app.command("pictures")(eval_pictures_command)
scenarios_app.command("lint")(lint_command)
scenarios_app.command("place")(place_command)
scenarios_app.command("types")(types_command)


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


def main() -> None:
    """Entry point: an expected error is printed as one line on stderr, with a nonzero exit status."""
    raise_on_signals()
    try:
        status = app(standalone_mode=False) or 0  # the status of typer.Exit; typer raises Exit on Ctrl-C too
        if status == INTERRUPTED_STATUS:
            say_error("interrupted")
        leave(status)
    except AvStackError as error:
        say_error(str(error))
        leave(error.exit_status)
    except OSError as error:  # a full disk, or a folder without write permission
        say_error(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
        sys.exit(AvStackError.exit_status)
    except typer.TyperException as error:
        say_error(error.format_message().replace("Input should be", "it has to be"))  # pydantic's wording
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        say_error("interrupted")
        leave(INTERRUPTED_STATUS)
