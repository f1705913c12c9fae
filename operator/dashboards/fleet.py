"""All jobs at a glance, and the operator."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard

from dashboards.panels import BY_LEADER, Query, board, lines, number, states, variable

_JOBS = 'namespace=~"$namespace"'
_BY_JOB = "by (namespace, job_name, lane)"
_NAME = "{{namespace}}/{{job_name}} {{lane}}"


def fleet() -> dashboard.Dashboard:
    """The dashboard."""
    shown = board("tandem-fleet", "Tandem / Fleet", "Every ReplicatedStreamJob, and the operator.").with_variable(
        variable("namespace", "Namespace", "label_values(tandem_operator_job_replicas, namespace)", every=True)
    )
    return _operator(_speed(_health(shown)))


def _health(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    return (
        shown.with_row(dashboard.Row("Is it safe?"))
        .with_panel(number("Jobs", "Jobs that the operator looks after.", Query("sum(tandem_operator_jobs)")))
        .with_panel(
            number(
                "Running",
                "Jobs whose phase is Running.",
                Query('sum(tandem_operator_jobs{phase="Running"})'),
            )
        )
        .with_panel(
            number(
                "Not ready",
                "Jobs whose condition Ready is false, without suspended ones.",
                Query(
                    f'count(max {_BY_JOB} (tandem_operator_condition{{type="Ready", {_JOBS}}}) == 0'
                    f' unless max {_BY_JOB} (tandem_operator_condition{{type="Suspended", {_JOBS}}}) == 1) or vector(0)'
                ),
                bad_from=1,
            )
        )
        .with_panel(
            number(
                "Fewer replicas than wanted",
                "Jobs whose next failure may be noticed.",
                Query(
                    f'count(max {_BY_JOB} (tandem_operator_job_replicas{{state="active", {_JOBS}}})'
                    f' < max {_BY_JOB} (tandem_operator_job_replicas{{state="wanted", {_JOBS}}})) or vector(0)'
                ),
                bad_from=1,
            )
        )
        .with_panel(
            number(
                "Diverged",
                "Jobs of which a replica computed other rows than the published ones.",
                Query(
                    f'count(max {_BY_JOB} (tandem_operator_condition{{type="Diverged", {_JOBS}}}) == 1) or vector(0)'
                ),
                bad_from=1,
            )
        )
        .with_panel(
            number(
                "Take-overs, last hour",
                "Epochs that another replica had to publish because their owner fell silent.",
                Query(f"sum(increase(tandem_take_overs_total{{{_JOBS}}}[1h])) or vector(0)"),
            )
        )
        .with_panel(
            states(
                "Ready",
                "The condition Ready of each job.",
                Query(f'max {_BY_JOB} (tandem_operator_condition{{type="Ready", {_JOBS}}})', _NAME),
                ("not ready", "ready"),
                width=12,
            )
        )
        .with_panel(
            states(
                "Replicated",
                "Whether each job has all the active replicas that it should have.",
                Query(f'max {_BY_JOB} (tandem_operator_condition{{type="Replicated", {_JOBS}}})', _NAME),
                ("fewer", "all"),
                width=12,
            )
        )
    )


def _speed(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    published = f"sum {_BY_JOB} (rate(tandem_rows_published_total{{{_JOBS}}}[$__rate_interval]))"
    buckets = f"rate(tandem_publish_latency_seconds_bucket{{{_JOBS}}}[$__rate_interval])"
    latency = f"sum by (le, namespace, job_name, lane) ({buckets})"
    return (
        shown.with_row(dashboard.Row("How fast?"))
        .with_panel(lines("Rows published", "By job.", "recps", Query(published, _NAME)))
        .with_panel(
            lines(
                "Input that is in no epoch yet",
                "Records; growing means that the job is slower than its input.",
                "short",
                Query(f"min {_BY_JOB} (tandem_input_lag_records{{{_JOBS}}} {BY_LEADER})", _NAME),
                alert_from=10_000,
            )
        )
        .with_panel(
            lines(
                "From cut to commit, p99",
                "How long it takes from an epoch's cut to its commit.",
                "s",
                Query(f"histogram_quantile(0.99, {latency})", _NAME),
            )
        )
        .with_panel(
            lines(
                "Farthest replica behind the head",
                "Epochs between the log's head and the slowest replica.",
                "short",
                Query(f"max {_BY_JOB} (tandem_replica_lag_epochs{{{_JOBS}}})", _NAME),
            )
        )
    )


def _operator(shown: dashboard.Dashboard) -> dashboard.Dashboard:
    seconds = "sum by (le) (rate(tandem_operator_reconcile_seconds_bucket[$__rate_interval]))"
    return (
        shown.with_row(dashboard.Row("The operator"))
        .with_panel(
            lines(
                "Passes",
                "Passes over jobs, by result.",
                "ops",
                Query("sum by (result) (rate(tandem_operator_reconcile_total[$__rate_interval]))", "{{result}}"),
                width=6,
            )
        )
        .with_panel(
            lines(
                "Duration of a pass",
                "Median and 99th percentile.",
                "s",
                Query(f"histogram_quantile(0.5, {seconds})", "p50"),
                Query(f"histogram_quantile(0.99, {seconds})", "p99"),
                width=6,
            )
        )
        .with_panel(
            lines(
                "Jobs that wait for a pass",
                "It should be 0 most of the time.",
                "short",
                Query("max(tandem_operator_queue_depth)", "waiting"),
                width=6,
            )
        )
        .with_panel(
            lines(
                "Requests to the API server",
                "By verb, without watches; a pass over an unchanged job makes none.",
                "ops",
                Query("sum by (verb) (rate(tandem_operator_api_requests_total[$__rate_interval]))", "{{verb}}"),
                width=6,
            )
        )
    )
