"""One job: who publishes, who is behind, where the time goes."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard

from dashboards.panels import BY_LEADER, Query, board, lines, number, states, variable

_JOB = 'namespace="$namespace", job_name="$job_name", lane=~"$lane"'


_ONE = 'namespace="$namespace", job_name="$job_name"'


def job() -> dashboard.Dashboard:
    """The dashboard."""
    shown = (
        board(
            "tandem-job", "Tandem / Job", "One ReplicatedStreamJob: who publishes, who is behind, where the time goes."
        )
        .with_variable(variable("namespace", "Namespace", "label_values(tandem_epoch, namespace)", every=False))
        .with_variable(
            variable("job_name", "Job", 'label_values(tandem_epoch{namespace="$namespace"}, job_name)', every=False)
        )
        .with_variable(variable("lane", "Lane", f"label_values(tandem_epoch{{{_ONE}}}, lane)", every=True))
    )
    return _state(_failures(_speed(_now(shown))))


def _rate(metric: str, labels: str = _JOB) -> str:
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def _now(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    behind = f"max by (lane) (tandem_head_epoch{{{_JOB}}}) - max by (lane) (tandem_published_epoch{{{_JOB}}})"
    return (
        shown.with_row(dashboard.Row("Now"))
        .with_panel(
            number(
                "Replicas at the head",
                "Active replicas that have reached the log's head.",
                Query(f"sum(tandem_replica_ready{{{_JOB}}})"),
            )
        )
        .with_panel(number("Standbys", "Replicas that stand by.", Query(f"sum(tandem_replica_standby{{{_JOB}}})")))
        .with_panel(
            number("Published epoch", "The last one.", Query(f"max(tandem_published_epoch{{{_JOB}}})"), unit="none")
        )
        .with_panel(
            number(
                "Epochs not published",
                "Between the log's head and the last published epoch.",
                Query(f"max({behind})"),
                bad_from=20,
            )
        )
        .with_panel(
            number(
                "Input that is in no epoch",
                "Records, as the leader sees them.",
                Query(f"sum(min by (lane) (tandem_input_lag_records{{{_JOB}}} {BY_LEADER}))"),
                bad_from=10_000,
            )
        )
        .with_panel(
            number(
                "Diverged",
                "Replicas that computed other rows than the published ones.",
                Query(f"sum(tandem_replica_diverged{{{_JOB}}})"),
                bad_from=1,
            )
        )
        .with_panel(
            states(
                "At the head",
                "Whether each replica has reached the log's head.",
                Query(f"tandem_replica_ready{{{_JOB}}}", "{{lane}} {{replica}}"),
                ("behind", "at the head"),
                width=12,
            )
        )
        .with_panel(
            states(
                "Leads",
                "Which orderer proposes the cuts.",
                Query(f"tandem_orderer_leading{{{_JOB}}}", "{{lane}} {{orderer}}"),
                ("", "leads"),
                width=12,
            )
        )
    )


def _speed(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    latency = f"sum by (le) ({_rate('tandem_publish_latency_seconds_bucket')})"
    phases = (
        f"sum by (phase) ({_rate('tandem_phase_seconds_sum')}) / sum by (phase) ({_rate('tandem_phase_seconds_count')})"
    )
    return (
        shown.with_row(dashboard.Row("How fast?"))
        .with_panel(
            lines(
                "Records",
                "Input records of cut epochs, as each replica reads them in the log; rows published by all together.",
                "recps",
                Query(f"sum(max by (lane) ({_rate('tandem_input_records_total')}))", "in"),
                Query(f"sum({_rate('tandem_rows_published_total')})", "out"),
                Query(f"sum({_rate('tandem_dead_letters_total')})", "dead letters"),
            )
        )
        .with_panel(
            lines(
                "From cut to commit",
                "How long it takes from an epoch's cut to its commit.",
                "s",
                Query(f"histogram_quantile(0.5, {latency})", "p50"),
                Query(f"histogram_quantile(0.95, {latency})", "p95"),
                Query(f"histogram_quantile(0.99, {latency})", "p99"),
            )
        )
        .with_panel(
            lines("Where an epoch's time goes", "Mean duration of each phase.", "s", Query(phases, "{{phase}}"))
        )
        .with_panel(
            lines(
                "Epochs published",
                "By replica: the first to finish an epoch publishes it.",
                "ops",
                Query(_rate("tandem_epochs_published_total"), "{{lane}} {{replica}}"),
            )
        )
        .with_panel(
            lines(
                "Behind the head",
                "Input records between the log's head and each replica.",
                "short",
                Query(f"tandem_replica_lag_records{{{_JOB}}}", "{{lane}} {{replica}}"),
            )
        )
        .with_panel(
            lines(
                "Time to the head",
                "Estimated; 0 at the head.",
                "s",
                Query(f"tandem_replica_catch_up_seconds{{{_JOB}}} >= 0", "{{lane}} {{replica}}"),
            )
        )
    )


def _failures(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    def count(metric: str, legend: str) -> Query:
        return Query(f"sum(increase({metric}{{{_JOB}}}[$__rate_interval]))", legend)

    return (
        shown.with_row(dashboard.Row("Failures, and who took over"))
        .with_panel(
            lines(
                "Take-overs",
                "Epochs taken over from a silent owner, replicas promoted, and changes of the leader.",
                "short",
                count("tandem_take_overs_total", "take-overs"),
                count("tandem_promotions_total", "promotions"),
                count("tandem_leader_changes_total", "leader changes"),
            )
        )
        .with_panel(
            lines(
                "Claims",
                "Epochs that each replica was the first to claim; a replica that never wins is slower than its peers.",
                "ops",
                Query(_rate("tandem_claims_won_total"), "{{lane}} {{replica}} won"),
                Query(_rate("tandem_claims_lost_total"), "{{lane}} {{replica}} lost"),
            )
        )
        .with_panel(
            lines(
                "Fencing",
                "Predecessors fenced, own transactions that failed by it, and commits of unknown outcome.",
                "short",
                count("tandem_fences_total", "fenced others"),
                count("tandem_fenced_total", "were fenced"),
                count("tandem_unknown_commits_total", "unknown commits"),
            )
        )
        .with_panel(
            lines(
                "Cuts",
                "Cuts proposed and won by each orderer.",
                "ops",
                Query(_rate("tandem_cuts_proposed_total"), "{{lane}} {{orderer}} proposed"),
                Query(_rate("tandem_cuts_won_total"), "{{lane}} {{orderer}} won"),
            )
        )
    )


def _state(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    published = f"max by (lane) (tandem_published_epoch{{{_JOB}}})"
    standing_by = f"on (namespace, pod, job_name, replica) tandem_replica_standby{{{_JOB}}} == 1"
    return (
        shown.with_row(dashboard.Row("State and standbys"))
        .with_panel(
            lines(
                "Standby behind the published epoch",
                "Epochs between the last published one and the state that each standby follows, and has proved.",
                "short",
                Query(
                    f"{published}"
                    f" - on (lane) group_right () (tandem_standby_followed_epoch{{{_JOB}}} and {standing_by})",
                    "{{lane}} {{replica}} follows",
                ),
                Query(
                    f"{published}"
                    f" - on (lane) group_right () (tandem_standby_verified_epoch{{{_JOB}}} and {standing_by})",
                    "{{lane}} {{replica}} proved",
                ),
                alert_from=200,
            )
        )
        .with_panel(
            lines(
                "State shipped",
                "Bytes of changed state that go to the standbys.",
                "Bps",
                Query(_rate("tandem_shipped_bytes_total"), "{{lane}} {{replica}}"),
            )
        )
        .with_panel(
            lines(
                "Retention margin",
                "Time until a topic's retention may delete what a restart from the oldest state would read.",
                "s",
                Query(f"min by (topic) (tandem_retention_margin_seconds{{{_JOB}}})", "{{topic}}"),
            )
        )
        .with_panel(
            lines(
                "Followed states that were wrong",
                "It should be 0 always.",
                "short",
                Query(
                    f"sum by (replica, lane) (tandem_standby_state_mismatches_total{{{_JOB}}})", "{{lane}} {{replica}}"
                ),
            )
        )
    )
