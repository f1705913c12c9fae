"""How a user lets a job go on with what has changed, as its next generation: words for messages."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote


def accepting_command(manifest: Path | str) -> str:
    """The command by which a stopped job goes on with what has changed."""
    return f"tandem run {quote(str(manifest))} --accept-changes"


def how_to_accept(manifest: Path | str, environment: Mapping[str, str]) -> str:
    """What to do so that a job goes on with what has changed beside its files. `environment`: says whether this is a pod."""
    if "POD_NAME" in environment:
        return (
            "apply the job with another value in spec.job.options, such as `version`, which makes it another generation"
        )
    return (
        f"use `{accepting_command(manifest)}` when the job is stopped, or, while its other replicas run and it takes "
        f"snapshots, `tandem upgrade {quote(str(manifest))}`"
    )
