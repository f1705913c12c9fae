"""A job that runs here, as values: one replica publishes, the other is behind, an orderer leads."""

from __future__ import annotations

from dataclasses import replace

from tandem.local.status import JobStatus, OrdererStatus, ReplicaStatus

NOW_S = 1_700_000_000.0
PUBLISHING = ReplicaStatus(
    name="replica-0",
    state="running",
    pid=11,
    alive=True,
    restarts=0,
    reason="",
    answers=True,
    active=True,
    ready=True,
    share=0.75,
    epoch=1204,
    claims_won=903,
    rows_per_s=4998.7,
    p50_ms=81.4,
    p99_ms=140.2,
)
BEHIND = replace(
    PUBLISHING, name="replica-1", ready=False, share=0.0, epoch=1100, lag_epochs=104, lag_records=52_000, restarts=2
)
LEADER = OrdererStatus("orderer-0", "running", 21, True, 0, "", leading=True, epoch=1204, cuts_won=1205)
STATUS = JobStatus("flights", NOW_S, (PUBLISHING, BEHIND), (LEADER,), "replica-0", 1203)
