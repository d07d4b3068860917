"""The command `dataset` with its two kinds of data: `pictures`, the default, and `drive`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from av_stack.cli.training.detector import dataset_command
from av_stack.cli.training.imitation import drive_command

PICTURES, DRIVE = "pictures", "drive"


class _PicturesByDefault(TyperGroup):
    """Makes `dataset DIR` mean `dataset pictures DIR`; a folder that is named drive is written as ./drive."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *self.get_help_option_names(ctx)):
            args = [PICTURES, *args]
        return super().parse_args(ctx, args)


dataset_app = typer.Typer(
    cls=_PicturesByDefault,
    no_args_is_help=True,
    help="Make data to train with: labelled pictures for the detector (dataset DIR), or drives (dataset drive DIR).",
)
dataset_app.command(PICTURES)(dataset_command)
dataset_app.command(DRIVE)(drive_command)
