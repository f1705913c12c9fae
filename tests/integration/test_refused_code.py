"""Code that cannot run is refused: it comes as far as Spark, and LocalJob must not start it again."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from integration.refusals import Refusals
from tandem.devservers import KafkaBroker
from tandem.local import LocalJob
from tandem.process.info import ExitCode

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

BROKEN = {
    "raises": "def job(events):\n    raise RuntimeError('no licence')\n",
    "no-import": "import no_such_module\n\ndef job(events):\n    return events\n",
    "undetermined": (
        "from pyspark.sql import functions as F\n\n"
        "def job(events):\n    return events.select(F.current_timestamp().cast('string').alias('value'))\n"
    ),
    "raises-later": (
        "from pyspark.sql import functions as F\n\n"
        "@F.udf('string')\n"
        "def doubled(value):\n    return str(2 * int(value))\n\n"
        "def job(events):\n    return events.select('key', doubled(F.col('value').cast('string')).alias('value'))\n"
    ),
    "casts-later": (
        "from pyspark.sql import functions as F\n\n"
        "def job(events):\n"
        "    number = F.col('value').cast('string').cast('int')\n"
        "    return events.select(number.cast('string').alias('value'))\n"
    ),
}
"""Those with `later` only fail for a record that is no number."""
REASONS = {
    "raises": "the job raised RuntimeError: no licence (job.py:2)",
    "no-import": "job.py could not be imported: ModuleNotFoundError: No module named 'no_such_module' (job.py:1)",
    "undetermined": "the job's plan is not determined by its input, so its replicas would differ. Replace current_timestamp",
    "casts-later": "the job raised while it ran: [CAST_INVALID_INPUT] The value 'seven' of the type \"STRING\" cannot be",
    "raises-later": "the job raised while it ran: ValueError: invalid literal for int() with base 10: 'seven' (job.py:5)",
}


@pytest.fixture(scope="module")
def broken(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LocalJob]]:
    """All start at the same time, because each takes as long as Spark does."""
    jobs = {}
    for name, code in BROKEN.items():
        job = Refusals(tmp_path_factory.mktemp(name), kafka.bootstrap, f"{name}-{uuid.uuid4().hex[:6]}")
        job.feed("1", "seven", "3")
        jobs[name] = LocalJob(job.manifest(code), job.folder / "run").start()
    yield jobs
    for started in jobs.values():
        started.stop()


@pytest.mark.parametrize("name", BROKEN)
def test_a_job_that_cannot_run_is_started_once(broken: dict[str, LocalJob], name: str) -> None:
    outcome = broken[name].wait(240)

    assert outcome is not None, broken[name].log_file("replica-0").read_text()
    assert outcome.code == ExitCode.REFUSED
    assert outcome.reason.startswith(f"replica-0 refused to run: {REASONS[name]}")
    assert "\n" not in outcome.reason
    happened = [event.text for event in broken[name].events() if event.process == "replica-0"]
    assert happened == ["started", f"refused to run: {outcome.reason.partition(': ')[2]}; stays down"]
    assert broken[name].process("replica-0").restarts == 0
