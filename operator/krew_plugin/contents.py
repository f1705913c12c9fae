"""What goes into an archive: this project's code and the packages it was tested with; all is Python but pydantic's core."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[2]
ROOTS: Final = ("kubernetes", "pydantic", "rich", "ruamel.yaml", "typer")
"""What the plugin imports; the rest of Tandem's dependencies it does not."""
COMPILED: Final = "pydantic_core"
"""The one package without which nothing works and which is compiled: one for each platform and Python."""
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
_CODE: Final = (ROOT / "jobs" / "tandem", ROOT / "operator" / "tandem_operator")
_LEFT_OUT: Final = (".so", ".pyd", ".pyc", ".pyi", ".java", ".template")


class MissingPartError(RuntimeError):
    """A part cannot be had; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Platform:
    """Where an archive runs, as krew names it; `wheels`: how wheels name it."""

    os: str
    arch: str
    wheels: str

    @property
    def name(self) -> str:
        """For file names."""
        return f"{self.os}-{self.arch}"


PLATFORMS: Final = (
    Platform("linux", "amd64", "manylinux2014_x86_64"),
    Platform("linux", "arm64", "manylinux2014_aarch64"),
    Platform("darwin", "amd64", "macosx_10_12_x86_64"),
    Platform("darwin", "arm64", "macosx_11_0_arm64"),
)


def closure(roots: tuple[str, ...] = ROOTS) -> dict[str, Distribution]:
    """The installed packages that these need, themselves included: name → package."""
    found: dict[str, Distribution] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in found:
            continue
        found[name] = distribution(name)
        needs = map(Requirement, found[name].requires or ())
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def copy_pure(folder: Path) -> None:
    """The code and its packages, without what is compiled: for each of that there is the same in Python."""
    for source in _CODE:
        shutil.copytree(source, folder / source.name, ignore=_ignored)
    for package in closure().values():
        for file in package.files or ():
            if file.parts[0] in ("..", COMPILED) or file.suffix in _LEFT_OUT or "__pycache__" in file.parts:
                continue
            target = folder.joinpath(*file.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(str(file.locate())), target)


def fetch_compiled(folder: Path, platform: Platform, python: str) -> None:
    """pydantic's core, in the version that fits. Raises `MissingPartError`."""
    version = distribution(COMPILED).version
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-deps"]
    which = ["--only-binary=:all:", "--implementation", "cp", "--platform", platform.wheels, "--python-version", python]
    command = [*pip, *which, "--no-compile", "--target", str(folder), f"{COMPILED}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        what = f"{COMPILED} {version} for Python {python} on {platform.name}"
        raise MissingPartError(f"pip cannot fetch {what}. In detail:\n{done.stderr.strip()}")


def _ignored(_folder: str, names: list[str]) -> Iterator[str]:
    return (name for name in names if name == "__pycache__" or name.endswith(_LEFT_OUT))
