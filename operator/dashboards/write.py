"""Dashboards as JSON, and the queries in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.fleet import fleet
from dashboards.job import job

FOLDER = Path(__file__).parents[2] / "helm" / "tandem" / "dashboards"
_LABEL_VALUES = re.compile(r"label_values\((?P<series>.+), *(?P<label>\w+)\)")


def texts() -> dict[str, str]:
    """Name → JSON of every dashboard, as the chart ships it."""
    built = {"fleet": fleet().build(), "job": job().build()}
    for board in built.values():
        for number, panel in enumerate(board.panels or (), start=1):
            panel.id_val = number
    return {name: json.dumps(each, cls=JSONEncoder, indent=2, sort_keys=True) + "\n" for name, each in built.items()}


def queries(board: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Panel's title and PromQL expression of every query of a dashboard."""
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A dashboard's variable: one of the values that `label` has in these series."""

    variable: str
    series: str
    label: str


def choices(board: dict[str, Any]) -> Iterator[Choice]:
    """Every variable of a dashboard whose values Prometheus knows; `ValueError` if it asks by another function."""
    for each in board["templating"]["list"]:
        if each["type"] == "query":
            asked = _LABEL_VALUES.fullmatch(each["query"])
            if asked is None:
                raise ValueError(f"{each['name']}: {each['query']} is not of the form label_values(series, label)")
            yield Choice(each["name"], asked["series"], asked["label"])


def filled_in(expression: str, variables: Mapping[str, str]) -> str:
    """An expression with Grafana's variables replaced by values; a `$` that is left is an error: `ValueError`."""
    for name, value in variables.items():
        expression = expression.replace(f"${name}", value)
    if "$" in expression:
        raise ValueError(f"a variable without a value in {expression}: give one of its name")
    return expression
