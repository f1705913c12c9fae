"""`PYTHONPATH=operator python -m krew_plugin --base https://…` builds the plugin; `make krew` does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from krew_plugin.build import build
from krew_plugin.contents import PLATFORMS, ROOT, VERSIONS, MissingPartError


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="make krew", description="kubectl tandem as a krew plugin, into dist/krew")
    parser.add_argument(
        "--base", default="http://localhost:8000", help="where the archives will be downloaded from (%(default)s)"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "dist" / "krew", help="where they are made")
    parser.add_argument("--platform", action="append", choices=[one.name for one in PLATFORMS], help="default: all")
    parser.add_argument("--python", action="append", choices=VERSIONS, help="default: all")
    given = parser.parse_args(arguments)
    platforms = [one for one in PLATFORMS if given.platform is None or one.name in given.platform]
    try:
        made = build(given.folder, given.base, platforms, given.python or VERSIONS)
    except (MissingPartError, OSError) as error:
        print(f"not made: {error}", file=sys.stderr)
        return 1
    print(f"{made} and {len(platforms)} archives beside it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
