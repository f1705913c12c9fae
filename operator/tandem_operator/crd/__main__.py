"""`python -m tandem_operator.crd`: write the CRD, its reference page and the names of a pod's fields.

With `--check`, fail if what is there differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from tandem_operator.crd.document import GROUP, PLURAL, crd
from tandem_operator.crd.pod_fields import pod_fields
from tandem_operator.crd.reference import reference
from tandem_operator.crd.yaml import dumped

_FILE = f"{GROUP}_{PLURAL}.yaml"
_HEAD = (
    "# Made from the models in jobs/tandem/manifest and operator/tandem_operator by: python -m tandem_operator.crd\n"
)


def generated() -> Mapping[str, str]:
    """What is generated: path from the repository's root → content."""
    document = _HEAD + dumped(crd())
    return {
        f"crds/{_FILE}": document,
        f"helm/tandem/crds/{_FILE}": document,
        "docs/reference/replicatedstreamjob.md": reference(),
        "jobs/tandem/manifest/pod_fields.txt": pod_fields(),
    }


def drifted(root: Path) -> tuple[str, ...]:
    """The files below `root` that are not as they would be generated."""
    return tuple(name for name, content in generated().items() if _read(root / name) != content)


def write(root: Path) -> None:
    """Write every generated file below `root`."""
    for name, content in generated().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m tandem_operator.crd", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file is not up to date")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository's root (default: where you are)")
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.root)
        return 0
    stale = drifted(options.root)
    for name in stale:
        print(f"{name} is not up to date. Run python -m tandem_operator.crd", file=sys.stderr)
    return 1 if stale else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
