"""Settings of the session that the job's code must leave as they are, or sets for nothing."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from tandem.jobapi.errors import JobError
from tandem.manifest.spark_settings import FIELDS, FIXED, OWNED, known_settings, misspelt

_KEPT: Final = (*FIXED, "spark.sql.shuffle.partitions", "spark.sql.session.timeZone")


def kept_settings(spark: SparkSession) -> dict[str, str | None]:
    """The values of the settings that must stay."""
    return {name: spark.conf.get(name, None) for name in _KEPT}


_HARMLESS: Final = ("spark.app.name", "spark.master", "spark.submit.deployMode")
"""What a job that was a program says of itself; nothing that it computes follows from it."""

_UTC: Final = ("etc/utc", "gmt", "z", "+00:00")


def _same(value: str | None) -> str | None:
    """Values that are alike for Spark are one."""
    text = None if value is None else value.strip().lower()
    return "utc" if text in _UTC else text


def check_kept(before: Mapping[str, str | None], spark: SparkSession) -> None:
    """Raise `JobError` if the job's code has changed one: with `spark.conf.set`, SQL's `SET` or a builder's `config`."""
    for name, value in kept_settings(spark).items():
        if _same(value) != _same(before[name]):
            if name in FIXED:
                why = f"it must be {before[name]}: {FIXED[name][1]}. Remove the line"
            else:
                why = f"its plan was begun with {before[name]}. Set {FIELDS.get(name, f'spec.spark.conf[{name}]')} instead"
            raise JobError(f"the job's code sets {name} to {value}, but {why}")


def check_effective(changed: Mapping[str, str]) -> None:
    """Raise `JobError` if the job's code has set something that Spark passes over in silence. `changed`: name → value."""
    for name, value in changed.items():
        if (meant := misspelt(name)) is not None:
            raise JobError(
                f"the job's code sets {name}, which Spark does not know and passes over in silence. Did you mean {meant}?"
            )
        if name in known_settings() and not name.startswith("spark.sql.") and name not in _HARMLESS:
            raise set_too_late(name, value)


def set_too_late(name: str, value: str, line: str = "") -> JobError:
    """The session runs already, and Spark takes the setting only when it starts."""
    where = f" ({line})" if line else ""
    if name in OWNED:
        return JobError(f"the job's code sets {name} to {value}{where}, but {OWNED[name][0]}. {OWNED[name][1]}")
    field = FIELDS.get(name, f"spec.spark.conf[{name}]")
    return JobError(
        f"the job's code sets {name} to {value}{where}, which has no effect in a session that runs. Set {field} instead, or "
        "remove the line"
    )
