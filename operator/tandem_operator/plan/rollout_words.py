"""What the condition Progressing says of a change that waits for a generation, or was gone back from. Pure.

Each function returns the condition's status, reason and message.
"""

from __future__ import annotations

from tandem_operator.plan.facts import Facts
from tandem_operator.status import ConditionStatus


def held(facts: Facts) -> tuple[ConditionStatus, str, str]:
    """The spec asks for another generation than the one that runs."""
    if facts.failed:
        remedy = "Fix the job or revert the change; or change spec.restartNonce to retry"
        said = f"{facts.failed}. The running generation continues unchanged. {remedy}"
        return "False", "UpgradeFailed", said
    if facts.upgrading:
        reason, said = facts.upgrading
        return "True", reason, f"{said}{because(facts.blocked)}"
    said = f"The spec asks for another configuration than the running one, which continues unchanged: {facts.needs}"
    remedy = (
        "Such a change needs a new generation from a savepoint (docs/how-to/upgrade-a-job.md). Or revert the change"
    )
    return "False", "ConfigurationChanged", f"{said}. {remedy}"


def rolled_back(facts: Facts) -> tuple[ConditionStatus, str, str]:
    """The spec was tried and failed."""
    trouble = facts.stalled if facts.rolling else facts.refused or facts.failing or facts.beside
    is_news = bool(trouble) and not facts.failed.startswith(trouble.rstrip(". "))
    more = f". But now {trouble}" if is_news else ""
    if facts.rolling or facts.active < facts.wanted_active or facts.standby < facts.wanted_standby:
        said = f"{facts.failed}. Replicas are being replaced with the last revision that worked, one at a time{more}"
        return "False", "RollingBack", said
    remedy = (
        "Fix the job, or change spec.restartNonce to retry. If the code or versions changed on purpose, "
        "also change an option, so that a new generation starts (docs/how-to/upgrade-a-job.md)"
    )
    said = f"{facts.failed}. The job runs the last revision that worked{more}. {remedy}"
    return "False", "RolledBack", said


def because(text: str) -> str:
    """A sentence that follows another one; "": none."""
    return f". {text}" if text else ""
