"""For each rule of the CRD, a manifest that it accepts and one that it rejects; run against a real API server."""

from __future__ import annotations

from typing import Final

from cluster.crd_case import Case
from cluster.crd_cases_formats import FORMATS
from cluster.crd_cases_job import JOB, STREAMS
from cluster.crd_cases_lanes import LANES
from cluster.crd_cases_settings import KAFKA, forbidden
from cluster.crd_cases_sinks import SINKS
from cluster.crd_cases_tables import TABLES
from cluster.crd_cases_values import CHANGES, VALUES

__all__ = ["CASES", "Case"]

CASES: Final[tuple[Case, ...]] = (
    *JOB,
    *STREAMS,
    *FORMATS,
    *TABLES,
    *LANES,
    *SINKS,
    *KAFKA,
    *VALUES,
    *CHANGES,
    *forbidden(),
)
