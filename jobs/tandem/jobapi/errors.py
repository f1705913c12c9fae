"""What ends a job for good."""


class JobError(Exception):
    """The user's job cannot run, or raised. Restarting would not help."""
