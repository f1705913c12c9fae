"""What a job's plan would be made of if a generation began now: found out by a process of its own, as a replica would.

`python -m tandem.replica.found_plan ORDER` is that process. It needs a JVM, so it takes some ten seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from tandem import logs
from tandem.embedded import JarsError, JavaMissingError
from tandem.embedded.process import ChildProcess, Command, tail
from tandem.engine.causal import Proposer
from tandem.engine.facts import hashes
from tandem.engine.interface import JobError
from tandem.manifest import CodeNotFoundError, Manifest, find_code, load
from tandem.process import RefusedError
from tandem.replica.computing import Computing
from tandem.replica.identity import plan_parts
from tandem.replica.leftovers import alive

TIMEOUT_S: Final = 300.0
_NAME: Final = "look"
_LIKE_A_REPLICA: Final = {"PYTHONHASHSEED": "0"}
_REFUSALS: Final = (JobError, RefusedError, CodeNotFoundError, JavaMissingError, JarsError)


def found_plan(manifest: Manifest) -> Mapping[str, str]:
    """See `plan_parts`. Static tables are copied beside the checkpoints.

    Raises `RefusedError` with what a replica would say.
    """
    with tempfile.TemporaryDirectory(prefix=f"tandem-look-{manifest.name}-") as folder:
        result, log = Path(folder, "result.json"), Path(folder, "log")
        order = {"manifest": str(manifest.path), "result": str(result)}
        argv = (sys.executable, "-m", "tandem.replica.found_plan", json.dumps(order))
        child = ChildProcess(_NAME, Command(argv, log, _LIKE_A_REPLICA))
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


def main(order: Mapping[str, str]) -> None:
    """Write the parts, or why there are none, to the file `result` of the order."""
    logs.configure("WARNING")
    manifest = load(Path(order["manifest"]))
    try:
        found: dict[str, Any] = {"parts": _parts(manifest)}
    except _REFUSALS as error:
        found = {"refused": str(error)}
    Path(order["result"]).write_text(json.dumps(found))


def _parts(manifest: Manifest) -> dict[str, str]:
    incarnation = f"{manifest.name}.{_NAME}.{uuid.uuid4().hex[:8]}"
    folder = manifest.checkpoint_directory / incarnation
    try:
        with alive(folder):
            computing = Computing(manifest, _NAME, incarnation, folder, {})
            try:
                proposer = Proposer(_NAME, _unused)
                engine = computing.prepare(
                    find_code(manifest), _unused, _untimed, proposer, _unused, None, lambda _: None
                )
                return plan_parts(hashes(engine.facts), engine.tables)
            finally:
                computing.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unused(*_: object) -> Any:
    raise AssertionError("nothing is read or proposed while a plan is looked at")


def _untimed(_phase: str) -> Any:
    return nullcontext()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(os.EX_OK)
