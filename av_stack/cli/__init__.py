"""The command line `av-stack`: one function per command, which checks its arguments before it imports what it needs."""

from av_stack.cli.main import app, main

__all__ = ["app", "main"]
