"""Settings of Spark that name files: relative ones start from the manifest's folder, as all paths of a manifest."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

SPARK_FILES: Final = frozenset({"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"})
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PATTERN: Final = re.compile(r"[*?\[{]")


def single_files(value: str) -> Iterator[str]:
    """The paths of a setting that are each one file of this machine, without the names that they get."""
    for part in filter(None, map(str.strip, value.split(","))):
        path = part.removeprefix("file://").partition("#")[0]
        if not _SCHEME.match(path) and not _PATTERN.search(path):
            yield path


def from_folder(conf: Mapping[str, str], base: Path) -> dict[str, str]:
    """Settings whose files are found from `base` where they are there; the others, e.g. URLs, are as they were."""
    return {
        name: ",".join(_from_folder(part, base) for part in value.split(",")) if name in SPARK_FILES else value
        for name, value in conf.items()
    }


def _from_folder(part: str, base: Path) -> str:
    path, mark, name = part.strip().partition("#")
    if not path or _SCHEME.match(path):
        return part
    given = Path(path).expanduser()
    there = not given.is_absolute() and any(base.glob(path)) if _PATTERN.search(path) else (base / given).exists()
    return f"{base / given}{mark}{name}" if there else part
