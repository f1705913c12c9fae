"""Tandem: PySpark streaming jobs in active replicas. `JobContext` is the type of a job's parameter `ctx`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem.jobapi.context import JobContext

__all__ = ["JobContext"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: it brings PySpark along, which a command like `tandem status` has no use for."""
    if name != "JobContext":
        raise AttributeError(f"module 'tandem' has no attribute {name!r}")
    from tandem.jobapi.context import JobContext

    return JobContext
