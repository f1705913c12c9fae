"""The files of a new job, which runs as it is: its manifest, its code, its test, orders to feed it with, and a README."""

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from pydantic import ValidationError

from tandem.devtools.addresses import KAFKA, ZOOKEEPER
from tandem.manifest.explain import explain
from tandem.manifest.models import Metadata

_SUFFIX: Final = ".template"


class NewJobError(ValueError):
    """The job cannot be made; the message says what to do."""


def make_job(name: str, parent: Path) -> Path:
    """Make the folder `name` in `parent`, which is made too if it is not there; returns the new folder.

    Its manifest names the addresses that `tandem dev` has by default.

    Raises `NewJobError`: the name is none for a job, or something is there already; `OSError`.
    """
    _check_name(name)
    folder = parent / name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise NewJobError(f"{folder} is there already, and not an empty folder. Choose another name, or --directory")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in rendered(name).items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def rendered(name: str) -> dict[str, str]:
    """The files of a job of that name: file name → text."""
    values = {"name": name, "kafka": KAFKA, "zookeeper": ZOOKEEPER}
    return {
        entry.name.removesuffix(_SUFFIX): Template(entry.read_text(encoding="utf-8")).substitute(values)
        for entry in files("tandem.devtools").joinpath("template").iterdir()
        if entry.name.endswith(_SUFFIX)
    }


def _check_name(name: str) -> None:
    """The manifest's own rule: a job's name is part of the names of pods and of topics."""
    try:
        Metadata(name=name)
    except ValidationError as error:
        issue = explain(error)[0]
        raise NewJobError(f"the name {issue.message}. {issue.remedy}") from error
