"""What the operator was installed with, as far as the objects of a job and the plan depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

USER: Final = 65532
"""The user of the image, and its group."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for all jobs.

    `image` : runs a job that names none.
    `run_as_user`, `run_as_group`, `fs_group` : whom the jobs' pods run as. None: whom the platform chooses.
    `operator_namespace` : whose pods may ask the job's pods for metrics.
    `figures_every_s` : epochs and lags alone do not make a new status more often than this.
    `same_figures_every_s` : nor, while none of them changes, the time at which they were read.
    """

    image: str
    operator_namespace: str = "tandem-system"
    figures_every_s: float = 30.0
    same_figures_every_s: float = 90.0
    run_as_user: int | None = USER
    run_as_group: int | None = USER
    fs_group: int | None = USER
