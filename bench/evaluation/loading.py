"""Reading the YAML files of scenarios and scales, and telling where one is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from bench.evaluation.models import Scale, ScaleName, Scales, Scenario

FOLDER = Path(__file__).parent / "scenarios"
_Model = TypeVar("_Model", bound=BaseModel)
SCALES = Path(__file__).with_name("scales.yaml")


class ScenarioError(Exception):
    """A file that cannot be used; the message has a line for each reason."""


def load_scenarios(folder: Path = FOLDER, only: Sequence[str] = ()) -> list[Scenario]:
    """All scenarios of a folder by file name, or those named by `only`.

    Raises `ScenarioError`: a file is wrong, two have the same name, or one that was named is not there.
    """
    found = [load_scenario(path) for path in sorted(folder.glob("*.yaml"))]
    names = [scenario.name for scenario in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ScenarioError(f"{folder}: several files have the scenario {', '.join(twice)}")
    unknown = [name for name in only if name not in names]
    if unknown:
        raise ScenarioError(f"there is no scenario {', '.join(unknown)}: known are {', '.join(names)}")
    return [scenario for scenario in found if not only or scenario.name in only]


def load_scenario(path: Path) -> Scenario:
    """One scenario. Raises `ScenarioError`."""
    return _load(path, Scenario)


def load_scale(name: ScaleName, path: Path = SCALES) -> Scale:
    """One scale. Raises `ScenarioError`."""
    return _load(path, Scales).get(name)


def _load(path: Path, model: type[_Model]) -> _Model:
    try:
        tree = YAML(typ="safe").load(path.read_text())
    except (OSError, YAMLError) as error:
        raise ScenarioError(f"{path.name}: {error}") from error
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        raise ScenarioError("\n".join(f"{path.name}: {line}" for line in _lines(error))) from error


def _lines(error: ValidationError) -> list[str]:
    return [f"{_place(one['loc'])}: {one['msg'].removeprefix('Value error, ')}" for one in error.errors()]


def _place(location: tuple[int | str, ...]) -> str:
    """`cases[0].rates`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".") or "the file"
