"""Which pods do not do what they are there for, and will not soon; in words."""

from __future__ import annotations

from typing import Final

from tandem.process.ending import EndKind
from tandem.process.info import ExitCode
from tandem_operator.observed import Component, ContainerSeen, Observed, PodSeen

_MANY_RESTARTS: Final = 3
_CURED_MS: Final = 600_000
_NO_NODE: Final = "Unschedulable"


def ends_again(seen: PodSeen | ContainerSeen, now_ms: int) -> bool:
    """Whether it has ended many times, and does not run now, or has not run for ten minutes yet."""
    return seen.restarts >= _MANY_RESTARTS and not _is_cured(seen, now_ms)


def refuses(seen: PodSeen | ContainerSeen, now_ms: int) -> bool:
    """Whether it refused to run when it ended last, and does not run now, or has not run for ten minutes yet."""
    return seen.exit_code == ExitCode.REFUSED and not _is_cured(seen, now_ms)


def is_stopped(observed: Observed) -> bool:
    """Whether no member works because each refuses to run, as after an error of the job's code: the job stands still.

    One that no node takes, as in a cluster with fewer nodes than replicas, is none that could work.
    """
    there = [pod for pod in observed.pods if pod.component is Component.MEMBER and not pod.is_gone]
    members = [pod for pod in there if pod.waits != _NO_NODE]
    return bool(members) and all(not pod.ready and refuses(pod, observed.now_ms) for pod in members)


def nobody_works(observed: Observed) -> bool:
    """Whether the candidates of the next generation refuse, too, of a job that stands still; or there are none.

    One on a node that is called lost may work, see `may_work`.
    """
    candidates = [pod for pod in observed.pods if pod.component is Component.CANDIDATE and may_work(pod)]
    return is_stopped(observed) and all(not pod.ready and refuses(pod, observed.now_ms) for pod in candidates)


def may_work(pod: PodSeen) -> bool:
    """Whether it is not gone, or only its node is called lost, and Kubernetes has not given the pod up for that yet."""
    return not pod.is_gone or (pod.node_lost and not pod.deleting)


def _is_cured(seen: PodSeen | ContainerSeen, now_ms: int) -> bool:
    return bool(seen.started_ms) and now_ms - seen.started_ms >= _CURED_MS


def failure(pod: PodSeen, now_ms: int, timeout_s: float) -> str:
    """Why a pod that is not of use will not be soon, in words; "" while there is hope."""
    said = _said(pod)
    if has_diverged(pod):
        return f"{pod.replica} computed other rows than the published ones{said}"
    if refuses(pod, now_ms):
        return f"{pod.replica} refuses to run{said}"
    if ends_again(pod, now_ms):
        return f"{pod.replica} ended {pod.restarts} times{said}"
    beside = failure_beside(pod, now_ms)
    if beside:
        return beside
    if now_ms - _since_ms(pod, pod) > timeout_s * 1000:
        missing = "has not caught up" if pod.component is not Component.GENERATOR else "does not beat"
        return f"{pod.replica} {missing} after {timeout_s:.0f} s{said}"
    return ""


def has_diverged(pod: PodSeen) -> bool:
    """Whether it computed other rows than the published ones: it ends then, and Kubernetes starts it again."""
    is_telling = pod.reported is not None and pod.reported.diverged
    return is_telling or (pod.exit_code == ExitCode.REFUSED and pod.end is EndKind.DIVERGED)


def has_hope(pod: PodSeen, now_ms: int, timeout_s: float) -> bool:
    """Whether a pod of which something refuses to run may run yet: its time is not over, and it was not tried often."""
    containers: tuple[PodSeen | ContainerSeen, ...] = (pod, *pod.beside)
    refusing = [seen for seen in containers if refuses(seen, now_ms) and not seen.ready]
    is_late = now_ms - max(pod.created_ms, pod.unready_ms) > timeout_s * 1000
    is_hopeless = has_diverged(pod) or is_late or any(ends_again(seen, now_ms) for seen in containers)
    return bool(refusing) and not is_hopeless


def failure_beside(pod: PodSeen, now_ms: int) -> str:
    """The same of the containers beside the replica: the orderer, and what the pod template adds."""
    for container in pod.beside:
        who = _who(container, pod)
        if refuses(container, now_ms) and not container.ready:
            return f"{who} refuses to run{_said(container)}"
        if ends_again(container, now_ms):
            return f"{who} ended {container.restarts} times{_said(container)}"
    return ""


def delay_beside(pod: PodSeen, now_ms: int, timeout_s: float) -> str:
    """Which container beside a replica has not become ready in time, in words; "": none."""
    for container in pod.beside:
        if not container.is_settled and now_ms - _since_ms(pod, container) > timeout_s * 1000:
            return f"{_who(container, pod)} is not ready after {timeout_s:.0f} s{_said(container)}"
    return ""


def _who(container: ContainerSeen, pod: PodSeen) -> str:
    return f"{container.label} {'of' if container.is_init else 'beside'} {pod.replica}"


def _since_ms(pod: PodSeen, seen: PodSeen | ContainerSeen) -> int:
    return max(pod.created_ms, pod.unready_ms, seen.started_ms)


def _said(seen: PodSeen | ContainerSeen) -> str:
    return f": {seen.message}" if seen.message else ""
