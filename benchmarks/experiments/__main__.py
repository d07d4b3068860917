"""`python -m benchmarks.experiments` makes the tables of docs/experiments.md anew from the result files."""

from __future__ import annotations

from benchmarks.experiments import PAGE, filled


def main() -> None:
    page = PAGE.read_text()
    new = filled(page)
    PAGE.write_text(new)
    print(f"{PAGE}: {'tables changed' if new != page else 'no table changed'}")


if __name__ == "__main__":
    main()
