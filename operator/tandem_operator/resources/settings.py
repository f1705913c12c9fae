"""What the operator was installed with, as far as the objects of a job and the plan depend on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for all jobs.

    Parameters
    ----------
    image : runs a job that names none.
    operator_namespace : whose pods may ask the job's pods for metrics.
    rollout_timeout_s : a changed pod that is not at the head for so long after its creation stalls the rollout.
    figures_every_s : epochs and lags alone do not make a new status more often than this.
    """

    image: str
    operator_namespace: str = "tandem-system"
    rollout_timeout_s: float = 600.0
    figures_every_s: float = 30.0
