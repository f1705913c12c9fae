"""`python -m tandem.local.lane_change_process ORDER`: changes the number of lanes in a process, whose JVM ends with it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from tandem import logs
from tandem.kafka.errors import (
    LostInputError,
    MissingTopicError,
    NotAllowedError,
    TandemKafkaError,
    TopicMismatchError,
    UnreadableInputError,
)
from tandem.manifest import Manifest, load
from tandem.process.child import guarded
from tandem.process.errors import StateError
from tandem.process.info import RefusedError
from tandem.snapshots import SnapshotError

_DECIDED: Final = (
    *(RefusedError, StateError),
    *(LostInputError, MissingTopicError, NotAllowedError, TopicMismatchError, UnreadableInputError),
)
_UNFINISHED: Final = (SnapshotError, TandemKafkaError, KafkaException, OSError)


class UnfinishedError(RefusedError):
    """It did not come to its end: a server did not answer, or the process was killed. Another try tells how it stands."""


def change_in_a_process(job: Manifest, before: int, only_check: bool = False) -> None:
    """See `change_lanes`: what it says goes to standard output. `only_check`: see `check_lane_change`.

    Raises `UnfinishedError`: only then the logs may be written. `RefusedError`: nothing has changed.
    """
    with tempfile.TemporaryDirectory(prefix=f"tandem-lanes-{job.name}-") as folder:
        result = Path(folder, "result.json")
        order = {"manifest": str(job.path), "before": str(before), "folder": folder, "result": str(result)}
        order |= {"only_check": "yes"} if only_check else {}
        argv = [sys.executable, "-m", "tandem.local.lane_change_process", json.dumps(order)]
        # Guarded: it might commit after this process was killed, and the job was started as it was.
        code = subprocess.run(guarded(argv), stderr=subprocess.PIPE, text=True, check=False)
        if not result.exists():
            raise UnfinishedError(
                f"the change of spec.lanes was cut short: exit code {code.returncode}. Try it again\n{code.stderr[-2_000:]}"
            )
        said = json.loads(result.read_text())
        if said["unfinished"]:
            raise UnfinishedError(said["unfinished"])
        if said["refused"]:
            raise RefusedError(said["refused"])


def main(order: Mapping[str, str]) -> None:
    """Change the number of lanes, and write to the file `result` of the order why not, if so."""
    from tandem.local.lane_change import change_lanes, check_lane_change

    logs.configure("WARNING")
    refused = unfinished = ""
    try:
        say = partial(print, flush=True)
        act = check_lane_change if "only_check" in order else change_lanes
        act(load(order["manifest"]), int(order["before"]), Path(order["folder"]), say)
    except _DECIDED as error:
        refused = str(error)
    except _UNFINISHED as error:
        unfinished = f"{error}. Try it again"
    Path(order["result"]).write_text(json.dumps({"refused": refused, "unfinished": unfinished}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    sys.stdout.flush()
    os._exit(os.EX_OK)
