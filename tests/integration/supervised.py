"""A job whose processes run what is written below: very little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.waiting import PATIENCE_S
from tandem.local import LocalJob, RestartPolicy
from tandem.local.plan import PlannedProcess

HASTY = RestartPolicy(first_delay_s=0.05, max_delay_s=0.1, healthy_s=60.0, most_in_a_row=3)

CAME_UP = """
import json, os, pathlib, sys
folder, name, kind = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
info = dict(name=name, kind=kind, pid=os.getpid(), metrics_port=0, came_up=True)
(folder / f"{name}.tmp").write_text(json.dumps(info))
(folder / f"{name}.tmp").rename(folder / f"{name}.process.json")
"""
SAYS_ITS_END = """
import json, os, pathlib, sys
def say_end(kind, reason):
    end = dict(kind=kind, reason=reason, pid=os.getpid())
    pathlib.Path(sys.argv[1], sys.argv[2] + ".end.json").write_text(json.dumps(end))
"""
LIVES = f"""
import signal, subprocess, sys, time
{SAYS_ITS_END}
def stop(*_):
    say_end("stopped", "")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
{CAME_UP}
while True: signal.pause()
"""
HAS_WORKERS = f"""
import os, subprocess, sys
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
same_group, own_group = subprocess.Popen(sleeper), subprocess.Popen(sleeper, process_group=0)
print(same_group.pid, own_group.pid, flush=True)
{LIVES}
"""


def ends(kind: str, reason: str, code: int) -> str:
    """A process that says why it ends, and ends."""
    return f"{SAYS_ITS_END}\nsay_end({kind!r}, {reason!r})\nraise SystemExit({code})\n"


MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: NAME}
spec:
  job: {file: job.py}
  replicas: 2
  kafka: {bootstrapServers: "localhost:1"}
  sources: [{name: events, topics: [NAME-in]}]
  sinks: [{name: out, topic: NAME-out}]
  ordering: {mode: heartbeat, generators: 1}
"""

MakeJob = Callable[..., LocalJob]


def write_manifest(folder: Path, name: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(MANIFEST.replace("NAME", name))
    return path


@contextmanager
def supervised(folder: Path, name: str) -> Iterator[MakeJob]:
    """Makes jobs `name` in `folder` whose processes run the given Python code; stopped at the end of the block."""
    made: list[LocalJob] = []

    def make(everyone: str = LIVES, policy: RestartPolicy = HASTY, pin: bool = False, **codes: str) -> LocalJob:
        def argv_of(plan: PlannedProcess) -> tuple[str, ...]:
            code = codes.get(plan.name.replace("-", "_"), everyone)
            return (sys.executable, "-S", "-c", code, str(folder / "run"), plan.name, plan.kind)

        job = LocalJob(write_manifest(folder, name), folder / "run", pin, policy, argv_of=argv_of)
        made.append(job)
        return job

    try:
        yield make
    finally:
        for job in made:
            job.stop(deadline_s=0.2)


def started(job: LocalJob) -> LocalJob:
    """The job, all of whose processes handle signals by now."""
    job.start()
    assert job.wait_until(lambda: all(map(job.is_up, job.names)), PATIENCE_S)
    return job


def workers_of(job: LocalJob, name: str) -> list[int]:
    return [int(pid) for pid in job.log_file(name).read_text().splitlines()[0].split()]
