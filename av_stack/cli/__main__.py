"""Entry point of `python -m av_stack.cli`, which handles signals itself from the start."""

from av_stack.cli.main import main

if __name__ == "__main__":
    main()
