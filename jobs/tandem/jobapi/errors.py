"""What ends a job for good."""


class JobError(Exception):
    """The user's job cannot run, or raised. Restarting would not help."""


class EpochError(JobError):
    """The job's code raised while it computed `epoch`. `said`: what, and about which record; `remedy`: how to go on."""

    def __init__(self, epoch: int, said: str, remedy: str) -> None:
        super().__init__(f"{said} {remedy}")
        self.epoch, self.said = epoch, said
