"""`python -m tandem.testing.other_process ORDER REPORT`: what `computed_apart` asks of a process of its own."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tandem.engine.elsewhere import elsewhere
from tandem.engine.shared_jvm import join
from tandem.jobapi.errors import JobError
from tandem.manifest import CodeNotFoundError
from tandem.testing.answers import Answered, answering
from tandem.testing.apart import Order, Report
from tandem.testing.cuts_matter import why_cuts_matter
from tandem.testing.run import is_ordered
from tandem.testing.running import compute, prepared


def _report(order: Order) -> Report:
    session, manifest = join(), order.manifest
    around: Callable[[], Any] = elsewhere if order.elsewhere else nullcontext
    with prepared(session, manifest, order.archives, around) as (job, folder):
        questions, ordered = tuple(job.causal.questions.values()), is_ordered(manifest)
        given = order.answers if order.recorded is None else dict.fromkeys(one.name for one in questions)
        causal, answered = answering(questions, given), Answered(order.recorded)
        found = compute(job, folder, order.epochs, causal, answered, ordered, order.timeout_s)
        report = Report(found.epochs, None, answered.recorded, job.facts, job.moving_tables)
        if order.others is not None and not questions and not why_cuts_matter(job.query.frame):
            others = compute(job, folder, order.others, causal, Answered({}), ordered, order.timeout_s)
            report.others = others.epochs
        return report


def main(task: Path, result: Path) -> None:
    """Carry out the order in a file; the report, or what the caller is to raise, goes into another one."""
    found: Report | Exception
    try:
        found = _report(pickle.loads(task.read_bytes()))  # noqa: S301, it is our own
    except (JobError, CodeNotFoundError) as error:
        found = Report(refused=str(error))
    except (ValueError, TypeError, TimeoutError) as error:
        found = error
    result.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
    os._exit(os.EX_OK)
