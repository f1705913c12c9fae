"""Settings of the session that the job's code must leave as they are."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from tandem.jobapi.errors import JobError
from tandem.manifest.spark_settings import FIELDS, FIXED

_KEPT: Final = (*FIXED, "spark.sql.shuffle.partitions", "spark.sql.session.timeZone")


def kept_settings(spark: SparkSession) -> dict[str, str | None]:
    """The values of the settings that must stay."""
    return {name: spark.conf.get(name, None) for name in _KEPT}


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
