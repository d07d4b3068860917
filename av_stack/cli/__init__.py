"""The command line `av-stack`: one function per command. It checks its arguments first and imports modules later."""

from av_stack.cli.main import app, main

__all__ = ["app", "main"]
