"""The metrics that are a replica's report in Prometheus' form: made of it at each scrape, so that both say the same."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from tandem.status.report import ReplicaReport

Of = Callable[[ReplicaReport], float]

UNKNOWN_S = -1.0
"""What the metric says while nobody can tell how long catching up will take."""

GAUGES: Mapping[str, tuple[str, Of]] = {
    "tandem_replica_active": (
        "1 while this replica computes, or would if there were epochs",
        lambda report: report.state == "active",
    ),
    "tandem_replica_standby": ("1 while this replica stands by", lambda report: report.state == "standby"),
    "tandem_replica_ready": (
        "1 while this replica is at the log's head, or goes on near it",
        lambda report: report.ready and report.state == "active",
    ),
    "tandem_epoch": (
        "Last epoch that is in this replica's state: computed, or restored; -1: none",
        lambda report: report.epoch,
    ),
    "tandem_published_epoch": (
        "Last epoch that this replica knows as published; -1: none",
        lambda report: report.published_epoch,
    ),
    "tandem_head_epoch": ("Last epoch that the ordering log has cut; -1: none", lambda report: report.head_epoch),
    "tandem_replica_lag_epochs": (
        "Epochs between the log's head and this replica",
        lambda report: report.lag_epochs,
    ),
    "tandem_replica_lag_records": (
        "Input records between the log's head and this replica",
        lambda report: report.lag_records,
    ),
    "tandem_replica_lag_seconds": (
        "Age of the oldest epoch that this replica has not computed yet; 0 at the log's head",
        lambda report: report.lag_seconds,
    ),
    "tandem_replica_catch_up_seconds": (
        "Estimated time to the log's head; 0 at the head, -1 while it is not known",
        lambda report: UNKNOWN_S if report.catch_up_s is None else report.catch_up_s,
    ),
    "tandem_standby_followed_epoch": (
        "Epoch that the followed state stands at; -1: none",
        lambda report: report.followed_epoch,
    ),
    "tandem_standby_verified_epoch": (
        "Newest epoch that was computed from followed state as published; -1: none",
        lambda report: report.verified_epoch,
    ),
    "tandem_replica_diverged": (
        "1 if this replica computed other rows than the published ones",
        lambda report: report.diverged,
    ),
}
"""Name → help, and its value."""

COUNTERS: Mapping[str, tuple[str, Of]] = {
    "tandem_claims_won_total": (
        "Epochs that this replica was the first to claim",
        lambda report: report.claims_won,
    ),
    "tandem_claims_lost_total": ("Epochs that another replica claimed before", lambda report: report.claims_lost),
    "tandem_take_overs_total": (
        "Epochs that this replica took over from a silent owner",
        lambda report: report.take_overs,
    ),
    "tandem_input_records_total": (
        "Input records of the epochs that the log has cut",
        lambda report: report.input_records,
    ),
}


class ReportedState(Collector):
    """Asks for the report at each scrape; all its metrics carry `labels`."""

    def __init__(self, labels: Mapping[str, str], report: Callable[[], ReplicaReport]) -> None:
        self.labels = labels
        self._report = report

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """All of them now."""
        report, names, values = self._report(), list(self.labels), list(self.labels.values())
        for name, (text, of) in GAUGES.items():
            gauge = GaugeMetricFamily(name, text, labels=names)
            gauge.add_metric(values, float(of(report)))
            yield gauge
        for name, (text, of) in COUNTERS.items():
            counter = CounterMetricFamily(name.removesuffix("_total"), text, labels=names)
            counter.add_metric(values, float(of(report)))
            yield counter
