"""`python -m tandem.engine.elsewhere ORDER`: makes a job's plan where clock and host are others; see `second_plan`."""

import json
import os
import platform
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import time_machine
from pyspark.sql.pandas.types import from_arrow_schema

from tandem.engine.bridge import EpochBridge
from tandem.engine.planning import Planning, intake_of
from tandem.engine.shared_jvm import join
from tandem.engine.static_tables import StaticTables
from tandem.engine.table_files import TableFiles
from tandem.formats.pins import Pins
from tandem.formats.registry import SchemaRegistry
from tandem.formats.resolved import Formats
from tandem.manifest import load

_LATER: Final = timedelta(days=400, hours=13, minutes=17, seconds=29)
"""Another second, minute, hour, day, weekday, month and year."""
_HOST: Final = "another-host"


def main(order: dict[str, Any]) -> None:
    """Write the facts of the plan to the file `result` of the order."""
    with suppress(OSError):  # where memory ends, this process ends first: the job begins without it
        Path("/proc/self/oom_score_adj").write_text("1000")
    session = join()
    folder = Path(order["folder"])
    copies = None if order["copies"] is None else Path(order["copies"])
    tables = StaticTables(TableFiles(session, copies), order["tables"])
    with elsewhere():
        given = load(Path(order["manifest"]))
        formats = Formats(Pins.of_tree(order["schemas"]), SchemaRegistry({}))
        manifest = formats.resolved(given)
        planning = Planning(session, manifest, Path(order["code"]), tables)
        schema = from_arrow_schema(intake_of(manifest, formats).schema)
        plan = planning.plan(EpochBridge(session, schema, folder / "bridge", manifest.spec.sources))
    Path(order["result"]).write_text(json.dumps(plan.facts))


@contextmanager
def elsewhere() -> Iterator[None]:
    """In the block, the clock of this process is another one. From then on, so is its host."""
    _be_another_host()
    with time_machine.travel(time.time() + _LATER.total_seconds(), tick=True):
        yield


def _be_another_host() -> None:
    uname = os.uname()
    named = os.uname_result((uname.sysname, _HOST, *uname[2:]))
    socket.gethostname = lambda: _HOST
    socket.getfqdn = lambda name="": name or _HOST
    platform.node = lambda: _HOST
    os.uname = lambda: named


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    os._exit(os.EX_OK)
