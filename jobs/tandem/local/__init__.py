"""A job's processes on this machine, as `tandem run` starts them."""

from tandem.local.errors import (
    AlreadyRunningError,
    JobEndedError,
    LocalJobError,
    NotRunningError,
    RunDirectoryError,
    UnknownProcessError,
)
from tandem.local.lanes import LocalLanes
from tandem.local.outcome import Event, Outcome
from tandem.local.plan import NewGeneration, port_problems
from tandem.local.restarts import RestartPolicy
from tandem.local.rundir import (
    ProcessState,
    RunDirectory,
    RunningJob,
    StartRequest,
    default_root,
    default_run_directory,
)
from tandem.local.supervisor import LocalJob

__all__ = [
    "AlreadyRunningError",
    "Event",
    "JobEndedError",
    "LocalJob",
    "LocalJobError",
    "LocalLanes",
    "NewGeneration",
    "NotRunningError",
    "Outcome",
    "ProcessState",
    "RestartPolicy",
    "RunDirectory",
    "RunDirectoryError",
    "RunningJob",
    "StartRequest",
    "UnknownProcessError",
    "default_root",
    "default_run_directory",
    "port_problems",
]
