"""The few kinds of panels that our dashboards are made of, and the variables that choose what they show."""

from __future__ import annotations

from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
BY_LEADER = "and on (namespace, pod, job_name, orderer) tandem_orderer_leading == 1"
"""Goes after an orderer's metric: who does not lead does not look at the input any more."""
_GREEN, _RED, _YELLOW = "green", "red", "yellow"


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression; `legend` names its series, with labels in double braces."""

    expression: str
    legend: str = ""


def board(uid: str, title: str, description: str) -> dashboard.Dashboard:
    """An empty dashboard of the last half hour."""
    return (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags(["tandem"])
        .time("now-30m", "now")
        .refresh("10s")
        .timezone("browser")
        .readonly()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )


def variable(name: str, label: str, query: str, every: bool) -> dashboard.QueryVariable:
    """A choice among the values of a label. `every`: also all of them, and several."""
    chosen = (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )
    # By this, "all" is also what has no such label.
    return chosen.multi(True).include_all(True).all_value(".*") if every else chosen


def lines(
    title: str, description: str, unit: str, *queries: Query, width: int = 12, alert_from: float | None = None
) -> Builder[models.Panel]:
    """Values over time; a dashed line where an alert begins."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .line_width(1)
        .fill_opacity(8)
        .show_points(looks.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(looks.LegendDisplayMode.LIST)
            .placement(looks.LegendPlacement.BOTTOM)
        )
        .tooltip(common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.DESCENDING))
        .span(width)
        .height(8)
    )
    if alert_from is not None:
        panel = panel.thresholds(_red_from(alert_from)).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(looks.GraphTresholdsStyleMode.DASHED)
        )
    for letter, query in zip("ABCDEFGH", queries, strict=False):
        panel = panel.with_target(_target(query, letter))
    return panel


def number(
    title: str, description: str, query: Query, unit: str = "short", bad_from: float | None = None, width: int = 4
) -> Builder[models.Panel]:
    """The value of now, red from `bad_from` on."""
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .graph_mode(looks.BigValueGraphMode.NONE)
        .color_mode(looks.BigValueColorMode.VALUE)
        .thresholds(_red_from(bad_from))
        .with_target(_target(query, "A"))
        .span(width)
        .height(4)
    )


def states(
    title: str, description: str, query: Query, words: tuple[str, str], width: int = 24
) -> Builder[models.Panel]:
    """Rows of something that is 0 or 1 over time, shown as `words`."""
    off, on = words
    shown = models.ValueMap(
        options={
            "0": models.ValueMappingResult(text=off, color=_YELLOW, index=0),
            "1": models.ValueMappingResult(text=on, color=_GREEN, index=1),
        }
    )
    return (
        statetimeline.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .mappings([shown])
        .show_value(looks.VisibilityMode.AUTO)
        .row_height(0.8)
        .fill_opacity(70)
        .line_width(0)
        .with_target(_target(query, "A"))
        .span(width)
        .height(8)
    )


def _red_from(bad_from: float | None) -> dashboard.ThresholdsConfig:
    steps = [models.Threshold(value=None, color=_GREEN)]
    if bad_from is not None:
        steps.append(models.Threshold(value=bad_from, color=_RED))
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)


def _target(query: Query, letter: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .expr(query.expression)
        .legend_format(query.legend)
        .range()
        .ref_id(letter)
        .datasource(SOURCE)
    )
