"""`PYTHONPATH=operator python -m reference_pages` writes the pages; with `--check` it fails if one is not up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from reference_pages.commands import commands
from reference_pages.metrics import metrics

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Final[Mapping[str, Callable[[], str]]] = {"cli.md": commands, "metrics.md": metrics}
"""File name → what makes its text."""
REMEDY: Final = "Run PYTHONPATH=operator python -m reference_pages"


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 if `--check` finds a page that is not up to date."""
    parser = argparse.ArgumentParser(prog="python -m reference_pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is not up to date")
    check = parser.parse_args(arguments).check
    stale = [name for name, text in PAGES.items() if not _is_current(FOLDER / name, text())]
    for name in stale:
        if check:
            print(
                f"docs/reference/{name} is not up to date. {REMEDY}",
                file=sys.stderr,
            )
        else:
            (FOLDER / name).write_text(PAGES[name](), encoding="utf-8")
    return 1 if check and stale else 0


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
