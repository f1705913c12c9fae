"""The workloads of the literature: jobs, deterministic feeds, and references that compute the same rows without Spark."""

from bench.workloads.base import BLOCK, Block, Engine, Epochs, Feed, Record, Row, Variant, Workload, merged
from bench.workloads.fixwindow import CLOSED_WINDOWS, FIXWINDOW
from bench.workloads.latency import COUNT, JOIN, TRANSFORM
from bench.workloads.lines import GREP, GROUPING
from bench.workloads.replication import HEARTBEAT, MIB1, MIB2, MIB3, VARYING
from bench.workloads.sequences import SEQUENCES

LITERATURE = {
    workload.name: workload
    for workload in (
        *(MIB1, MIB2, MIB3, HEARTBEAT, VARYING),
        *(FIXWINDOW, CLOSED_WINDOWS, GREP, GROUPING, SEQUENCES),
        *(TRANSFORM, COUNT, JOIN),
    )
}
"""By name."""

__all__ = [
    "BLOCK",
    "LITERATURE",
    "Block",
    "Engine",
    "Epochs",
    "Feed",
    "Record",
    "Row",
    "Variant",
    "Workload",
    "merged",
]
