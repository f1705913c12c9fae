"""Testing a job without Kafka: `run_epochs` gives the rows of chosen epochs, `assert_replicas_agree` compares two processes.

>>> rows = run_epochs("job.yaml", {"orders": [{"customer": "c1", "amount": 2.5}]})  # doctest: +SKIP
>>> rows.values("counts")  # doctest: +SKIP
[{'customer': 'c1', 'count': 1}]
"""

from tandem.jobapi.errors import EpochError, JobError
from tandem.manifest import ManifestError
from tandem.testing.agreement import assert_replicas_agree
from tandem.testing.epochs import Inputs
from tandem.testing.records import Record
from tandem.testing.rows import Result, Row
from tandem.testing.run import run_epochs
from tandem.testing.session import stop_session

__all__ = [
    "EpochError",
    "Inputs",
    "JobError",
    "ManifestError",
    "Record",
    "Result",
    "Row",
    "assert_replicas_agree",
    "run_epochs",
    "stop_session",
]
