"""The job's plan made once more in another Python process, before the job begins: with another clock, host and environment.

Whatever the code takes from these is in the plan as a constant, in a function that Spark calls, or in data, and differs
there. The process shares the JVM, so it costs a second or two, once in the life of a job: a replica that restarts is
compared with what the log says instead.
"""

import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from tandem.engine.facts import constants_of, differing
from tandem.engine.planning import Plan
from tandem.engine.shared_jvm import shared
from tandem.engine.static_tables import StaticTables
from tandem.formats.pins import NO_PINS, Pins
from tandem.jobapi.errors import JobError
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.process.child import ChildProcess, Command, tail

_log = get_logger(__name__)

TIMEOUT_S: Final = 60.0
_SHOWN: Final = 3
ELSEWHERE: Final = {
    name: f"another-{name.lower().replace('_', '-')}"
    for name in ("HOSTNAME", "POD_NAME", "POD_IP", "POD_UID", "NODE_NAME", "HOST_IP")
}
"""What differs between the replicas of a job by nature; `HOST`, say, may be that of a service."""


class SecondPlan:
    """Compares a plan with that of another process.

    `code` : the archive of the job's code.
    `folder` : for its files; removed afterwards.
    `tables` : what the plan has read; read there as they were here.
    `pins` : the schemas of the job.
    """

    def __init__(
        self,
        session: SparkSession,
        manifest: Manifest,
        code: Path,
        folder: Path,
        tables: StaticTables,
        pins: Pins = NO_PINS,
    ) -> None:
        self._session, self._manifest, self._code = session, manifest, code
        self._folder, self._tables, self._pins = folder, tables, pins

    def __call__(self, plan: Plan) -> None:
        """Raises `JobError` if the plan is another one there, with what differs; where no plan could be made, only warns."""
        found = self.differences(plan)
        if found:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise JobError(
                "the job's plan is another one in another process, so its replicas would differ: "
                f"{'; '.join(found[:_SHOWN])}{more}. The code takes this from its surroundings when its module is imported "
                "or its function is called: the clock, chance, the host, the environment. Take times from ctx.epoch_time() "
                "and the records, random numbers from ctx.rng(), constants from spec.job.options, and what changes from "
                "ctx.determinant(...)"
            )

    def differences(self, plan: Plan) -> list[str]:
        """Each difference, in words; none if the plan could not be made there, or not compared."""
        try:
            facts = self._facts()
            if facts is None or facts == plan.facts:
                return []
            if not facts or not plan.facts:  # `planning` could not read them, and has said so
                _log.warning("plan_not_compared", reason="what it is made of could not be read")
                return []
            return list(differing(plan.facts, facts, [*plan.constants, *_placed(plan)]))
        except Exception as error:
            _log.warning("plan_not_compared", reason=f"{type(error).__name__}: {error}")
            return []

    def _facts(self) -> dict[str, str] | None:
        self._folder.mkdir(parents=True, exist_ok=True)
        result, log = self._folder / "facts.json", self._folder / "log"
        order = {
            "manifest": str(self._manifest.path),
            "code": str(self._code),
            "folder": str(self._folder),
            "result": str(result),
            "tables": self._tables.versions,
            "copies": self._tables.folder,
            "schemas": self._pins.tree(),
        }
        argv = (sys.executable, "-m", "tandem.engine.elsewhere", json.dumps(order))
        try:
            with shared(self._session) as variables:
                child = ChildProcess("second-plan", Command(argv, log, {**ELSEWHERE, **variables}))
                ended = child.wait(TIMEOUT_S)
                if not ended:
                    child.kill()
            if ended and child.exit_code == os.EX_OK:
                return dict(json.loads(result.read_text()))
            why = "it took too long" if not ended else f"exit code {child.exit_code}"
            _log.warning("plan_not_compared", reason=f"{why}: {tail(log, 5)}")
            return None
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _placed(plan: Plan) -> list[tuple[str, str]]:
    """The plan's constants with their lines, which only the words of a difference need."""
    with suppress(Exception):
        return list(constants_of(plan.frame))
    return []
