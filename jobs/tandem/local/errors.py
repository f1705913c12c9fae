"""What can go wrong with a job on this machine, in words for its user."""

from tandem.process.info import ExitCode


class LocalJobError(Exception):
    """Base of the errors of this package."""


class RunDirectoryError(LocalJobError):
    """The run directory cannot be used."""


class AlreadyRunningError(RunDirectoryError):
    """A job runs there already."""


class UnknownProcessError(LocalJobError):
    """The job has no process of that name."""


class NotRunningError(LocalJobError):
    """There is no such process, or no such job, at the moment."""


class JobEndedError(LocalJobError):
    """The job stopped by itself; `code` is what a command should exit with."""

    def __init__(self, code: ExitCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
