"""What a job's plan would be made of if a generation began now."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tandem.manifest import Manifest
from tandem.process.child import ChildProcess, Command, tail
from tandem.process.info import RefusedError

TIMEOUT_S: Final = 300.0
_LIKE_A_REPLICA: Final = {"PYTHONHASHSEED": "0"}


def found_plan(manifest: Manifest) -> Mapping[str, str]:
    """See `replica.identity.plan_parts`: of the plan that a process of its own makes, as a replica would; some ten seconds.

    Static tables are copied beside the checkpoints. Raises `RefusedError` with what a replica would say.
    """
    with tempfile.TemporaryDirectory(prefix=f"tandem-look-{manifest.name}-") as folder:
        result, log = Path(folder, "result.json"), Path(folder, "log")
        order = {"manifest": str(manifest.path), "result": str(result)}
        argv = (sys.executable, "-m", "tandem.replica.found_plan", json.dumps(order))
        child = ChildProcess("look", Command(argv, log, _LIKE_A_REPLICA))
        try:
            ended = child.wait(TIMEOUT_S)
        finally:
            if child.running:
                child.kill()
        if not ended or child.exit_code != os.EX_OK:
            why = f"exit code {child.exit_code}" if ended else f"it took longer than {TIMEOUT_S:.0f} s"
            raise RefusedError(f"the job's plan could not be made, to see what has changed: {why}\n{tail(log)}")
        found = dict(json.loads(result.read_text()))
    if "refused" in found:
        raise RefusedError(found["refused"])
    return dict(found["parts"])
