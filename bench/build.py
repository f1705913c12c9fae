"""Which class runs a configuration."""

from __future__ import annotations

from bench.peers.flink.system import Flink
from bench.plan import Run
from bench.systems import Place, PlainSpark, System, Tandem


def build(run: Run, place: Place) -> System:
    """The system of a run, not started."""
    if run.configuration.plain:
        return PlainSpark(run, place)
    return Flink(run, place) if run.configuration.detection else Tandem(run, place)
