"""What the systems under measurement need from package registries, fetched once, before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bench.connector import connector_jars
from bench.peers.flink.packages import flink_jars
from bench.plan import Configuration
from tandem.engine.jvm.jars import Jars


def fetch_for(configurations: Iterable[Configuration], say: Callable[[str], None]) -> None:
    """Make sure of it. `say` : called before what may take long. Raises `JarsError`."""
    wanted = tuple(configurations)
    Jars.resolve()
    if any(one.plain for one in wanted):
        say("making sure of the connector of plain Spark (fetched once, a minute or two)")
        connector_jars()
    if any(one.detection for one in wanted):
        say("making sure of Flink (fetched once, a minute or two)")
        flink_jars()
