"""Pictures of the dashboards' main panels for the docs: their own queries, asked of a Prometheus, and drawn without Grafana.

`PYTHONPATH=operator python -m dashboards.pictures URL NAMESPACE JOB` draws the last ten minutes into docs/pictures.
"""

from __future__ import annotations

import argparse
import json
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dashboards.drawing import draw
from dashboards.figures import Figure, Panel, Series, figure, panels
from dashboards.write import FOLDER, filled_in

PICTURES: Final = Path(__file__).parents[2] / "docs" / "pictures"
MAIN_ROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "fleet": ("Is it safe?", "How fast?", "The operator"),
    "job": ("Now", "How fast?", "Failures, and who took over"),
}
"""Of each dashboard the rows that are drawn: the first ones, so that no room stays empty."""
_POINTS: Final = 200
_TIMEOUT_S: Final = 30.0


def make(prometheus: str, variables: Mapping[str, str], times: range, folder: Path) -> list[Path]:
    """Draw every committed dashboard, and return the pictures' paths.

    Parameters
    ----------
    prometheus : URL of a Prometheus.
    variables : Grafana's variables, and their values.
    times : of the points, in seconds since 1970.

    Raises `urllib.error.URLError` if Prometheus does not answer, or refuses a query.
    """
    paths = []
    for name, rows in MAIN_ROWS.items():
        board = json.loads((FOLDER / f"{name}.json").read_text())
        shown = [_shown(prometheus, panel, variables, times) for panel in panels(board, rows)]
        paths.append(folder / f"dashboard-{name}.png")
        draw(paths[-1], board["title"], shown)
    return paths


def times_until(end_s: float, length_s: int) -> range:
    """Times of the points of a picture that ends then: whole seconds, as far apart as the width has pixels for."""
    step_s = max(1, length_s // _POINTS)
    return range(int(end_s) - length_s, int(end_s) + 1, step_s)


def series(answer: Mapping[str, Any]) -> tuple[Series, ...]:
    """Of the JSON that Prometheus answers a range query with."""
    return tuple(
        Series(found["metric"], {round(time_s): float(value) for time_s, value in found["values"]})
        for found in answer["data"]["result"]
    )


def _shown(prometheus: str, panel: Panel, variables: Mapping[str, str], times: range) -> Figure:
    answers = [_ask(prometheus, filled_in(target.expression, variables), times) for target in panel.targets]
    return figure(panel, answers, times)


def _ask(prometheus: str, expression: str, times: range) -> tuple[Series, ...]:
    asked = urllib.parse.urlencode({"query": expression, "start": times[0], "end": times[-1], "step": times.step})
    with urllib.request.urlopen(f"{prometheus}/api/v1/query_range?{asked}", timeout=_TIMEOUT_S) as answer:  # noqa: S310
        return series(json.load(answer))


def main() -> None:
    """Draw, and say where."""
    parser = argparse.ArgumentParser(prog="dashboards.pictures", description=__doc__)
    parser.add_argument("prometheus", help="URL of a Prometheus that scrapes the job, e.g. http://127.0.0.1:9090")
    parser.add_argument("namespace")
    parser.add_argument("job")
    parser.add_argument("--minutes", type=int, default=10, help="so many, until now (default: 10)")
    parser.add_argument("--rate-interval", default="1m", help="for rates: four scrapes or more (default: 1m)")
    parser.add_argument("--folder", type=Path, default=PICTURES)
    given = parser.parse_args()
    chosen = {"namespace": given.namespace, "job_name": given.job, "__rate_interval": given.rate_interval}
    times = times_until(time.time(), given.minutes * 60)
    for path in make(given.prometheus.rstrip("/"), chosen, times, given.folder):
        print(path)


if __name__ == "__main__":
    main()
