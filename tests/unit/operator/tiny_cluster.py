"""A cluster in mind: pods that start, work, hand over and die, as far as the plan can tell; and promises that it checks.

Time goes by in steps. Each pod needs a step or two for whatever it does. Slots are handed over as the runtime does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem.process.ending import EndKind
from tandem.status.report import TopicDrift
from tandem_operator.actions import (
    Action,
    Apply,
    Create,
    CreatePod,
    Delete,
    DeletePod,
    LabelPod,
    SetStatus,
    Switch,
    TryPod,
)
from tandem_operator.observed import Component, ContainerSeen, Observed, PodPhase, TaskSeen
from tandem_operator.plan import plan
from tandem_operator.resources.names import APPLIED, COMPONENT, CONFIG, GENERATION, INDEX, MANIFEST, ROLE, TEMPLATE
from tandem_operator.resources.revisions import KIND as REVISION
from tandem_operator.resources.tasks import TASK
from unit.operator.operator_builders import SETTINGS
from unit.operator.tiny_pods import STEP_MS, Pod
from unit.operator.tiny_seen import observed

BROKEN_ORDERER = ContainerSeen("orderer", restarts=4, exit_code=78, message="no quorum")


@dataclass
class TinyCluster:
    """`breaks` tells of a template whether pods made from it never come up, `breaks_beside`: whether their orderers do.

    Pods of the templates in `stuck` run, but never reach the head. `config`: what the ordering log has accepted.
    """

    job: ReplicatedStreamJob
    pods: dict[str, Pod] = field(default_factory=dict)
    objects: dict[tuple[str, str], str] = field(default_factory=dict)
    revisions: dict[str, Any] = field(default_factory=dict)
    tasks: dict[str, TaskSeen] = field(default_factory=dict)
    config: str = ""
    slots: dict[int, str] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    generation: int = 1
    now_ms: int = 1_800_000_000_000
    breaks: Callable[[str], bool] = lambda _: False
    breaks_beside: Callable[[str], bool] = lambda _: False
    stuck: set[str] = field(default_factory=set)
    outcome: PodPhase = PodPhase.SUCCEEDED
    knows_slots: bool = True
    drift: tuple[TopicDrift, ...] | None = ()
    log: list[str] = field(default_factory=list)
    ended: dict[str, int] = field(default_factory=dict)
    made: int = 0

    def change(self, job: ReplicatedStreamJob) -> None:
        """The user applies another spec."""
        self.job, self.generation = job, self.generation + 1

    # What is seen ---------------------------------------------------------------------------------------------------

    def slot(self, pod: Pod) -> int | None:
        return next((slot for slot, holder in self.slots.items() if holder == pod.incarnation), None)

    def is_standby(self, pod: Pod) -> bool:
        return pod.slots > 0 and self.slot(pod) is None

    def is_active(self, pod: Pod) -> bool:
        """Whether it computes at the head."""
        return pod.component is Component.MEMBER and pod.works and not self.is_standby(pod) and pod.age >= 3

    def actives(self) -> list[Pod]:
        return [pod for _, pod in sorted(self.pods.items()) if self.is_active(pod)]

    def standbys(self) -> list[Pod]:
        members = [pod for _, pod in sorted(self.pods.items()) if pod.component is Component.MEMBER]
        return [pod for pod in members if pod.works and self.is_standby(pod)]

    def is_ready(self, pod: Pod) -> bool:
        if pod.component is Component.GENERATOR:
            return pod.works
        if pod.component is Component.CANDIDATE:
            return pod.works and pod.age >= 3
        return self.is_active(pod) or pod in self.standbys()

    def publishes(self, pod: Pod) -> bool:
        """Whether it does, or could at once."""
        begun = pod.component is Component.CANDIDATE and self.is_ready(pod) and pod.config == self.config
        return begun or self.is_active(pod)

    def observed(self) -> Observed:
        """What an operator sees of all that."""
        return observed(self)

    # What is done ---------------------------------------------------------------------------------------------------

    def do(self, actions: tuple[Action, ...]) -> None:
        """Carry out what the plan says, and check that it breaks no promise."""
        ready = [pod for pod in self.pods.values() if self.publishes(pod) or pod in self.standbys()]
        deleted = [action for action in actions if isinstance(action, DeletePod)]
        hit = [pod for pod in ready if any(pod.uid == action.uid for action in deleted)]
        if not self.job.spec.suspend:
            assert len(hit) <= 1, f"{len(hit)} members that work are deleted at once: {self.story()}"
            rest = [pod for pod in ready if pod not in hit]
            assert not hit or rest or self.job.spec.replicas + self.job.spec.standbys == 1, (
                f"the last member that works is deleted: {self.story()}"
            )
        for action in actions:
            self.log.append(_told(action))
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case CreatePod(pod):
                self._create(pod)
            case TryPod():
                pass  # it refuses none
            case DeletePod():
                self._delete(action)
            case Switch():
                self._switch(action)
            case LabelPod():
                self.pods[action.name].role = action.labels[ROLE]
            case Apply(thing):
                meta = thing["metadata"]
                self.objects[thing["kind"], meta["name"]] = meta["annotations"][APPLIED]
            case Create(thing):
                assert thing["kind"] == REVISION
                assert thing["metadata"]["name"] not in self.revisions
                self.revisions[thing["metadata"]["name"]] = thing
            case Delete(kind, name) if kind == REVISION:
                del self.revisions[name]
            case Delete():
                del self.objects[action.kind, action.name]
            case SetStatus():
                self.status = dict(action.status)

    def _create(self, body: Any) -> None:
        meta = body["metadata"]
        if meta["name"] in self.pods:
            return
        if meta["labels"][COMPONENT] == TASK:
            assert meta["name"] not in self.ended, f"{meta['name']} runs a second time: {self.story()}"
            self.tasks.setdefault(
                meta["name"], TaskSeen(meta["name"], meta["name"], PodPhase.RUNNING, created_ms=self.now_ms)
            )
            return
        since_ms = self.now_ms - self.ended.get(meta["name"], 0)
        assert since_ms > 2 * STEP_MS, f"a second pod is named {meta['name']}: {self.story()}"
        assert ("ConfigMap", meta["annotations"][MANIFEST]) in self.objects, "a pod needs a manifest that is not there"
        self.made += 1
        spec = self.job.spec
        self.pods[meta["name"]] = Pod(
            name=meta["name"],
            uid=f"{self.made:08x}",
            component=Component(meta["labels"][COMPONENT]),
            index=int(meta["labels"][INDEX]),
            template=meta["annotations"][TEMPLATE],
            manifest=meta["annotations"][MANIFEST],
            config=meta["annotations"][CONFIG],
            generation=meta["labels"].get(GENERATION, ""),
            slots=spec.replicas if spec.standbys else 0,
            accepts="--accept-changes" in body["spec"]["containers"][0].get("args", ()),
            created_ms=self.now_ms,
            role=meta["labels"].get(ROLE, ""),
            broken=self.breaks(meta["annotations"][TEMPLATE]),
            beside=(BROKEN_ORDERER,) if self.breaks_beside(meta["annotations"][TEMPLATE]) else (),
        )

    def _delete(self, action: DeletePod) -> None:
        if self.tasks.pop(action.name, None) is not None:
            self.ended[action.name] = self.now_ms
        pod = self.pods.get(action.name)
        if pod is None or pod.uid != action.uid:
            return
        if action.grace_s == 0 or pod.phase in (PodPhase.FAILED, PodPhase.SUCCEEDED):
            self._vanish(pod)
        else:
            pod.deleting = True

    def _switch(self, action: Switch) -> None:
        leaver = next((pod for pod in self.actives() if f"replica-{pod.index}" == action.leaves), None)
        assert leaver is not None, f"{action.leaves} is not active, and shall leave: {self.story()}"
        slot = self.slot(leaver)
        standbys = [pod for pod in self.standbys() if action.successor in ("", f"replica-{pod.index}")]
        assert slot is not None
        assert standbys or action.successor is None, f"there is no {action.successor!r} to take over: {self.story()}"
        assert len(self.actives()) > 1 or standbys, f"the last active leaves: {self.story()}"
        if action.successor is None:
            del self.slots[slot]
        else:
            self.slots[slot] = standbys[0].incarnation
        leaver.exit_code, leaver.age = (0, 0) if action.drains else (1, 0)
        leaver.end = EndKind.DRAINED if action.drains else EndKind.STEPPED_DOWN

    # What happens by itself -----------------------------------------------------------------------------------------

    def step(self) -> None:
        """Time goes by."""
        self.now_ms += STEP_MS
        for pod in list(self.pods.values()):
            if pod.deleting and not pod.node_lost:
                self._hand_over(pod)
                self._vanish(pod)
            elif pod.phase is PodPhase.PENDING:
                pod.phase = PodPhase.RUNNING
            elif pod.runs:
                pod.age += pod.template not in self.stuck
                if pod.broken:
                    pod.restarts, pod.exit_code, pod.message = pod.restarts + 1, 78, "no such module"
        for name, task in self.tasks.items():
            if not task.has_ended:
                self.tasks[name] = replace(task, phase=self.outcome, ended_ms=self.now_ms)
        self._accept()
        live = {pod.incarnation for pod in self.pods.values() if pod.runs and not pod.deleting}
        self.slots = {slot: holder for slot, holder in self.slots.items() if holder in live}
        for pod in self.standbys():
            free = [slot for slot in range(pod.slots) if slot not in self.slots]
            if free:
                self.slots[free[0]] = pod.incarnation

    def _accept(self) -> None:
        """The first one at the head begins its generation; those of another one end, and are refused from then on."""
        candidates = [pod for pod in self.pods.values() if pod.component is Component.CANDIDATE and self.is_ready(pod)]
        members = [pod for pod in self.pods.values() if pod.component is Component.MEMBER and pod.runs]
        working = [pod for pod in members if pod.works and (pod.accepts or not self.config)]
        first = next(iter((*candidates, *working)), None)
        self.config = first.config if first is not None else self.config
        for pod in members:
            if self.config not in ("", pod.config) and not pod.accepts:
                pod.broken, pod.end = True, EndKind.OTHER_JOB

    def _hand_over(self, pod: Pod) -> None:
        slot, standbys = self.slot(pod), [other for other in self.standbys() if other is not pod]
        if slot is not None and standbys and pod.runs:
            self.slots[slot] = standbys[0].incarnation

    def _vanish(self, pod: Pod) -> None:
        del self.pods[pod.name]
        self.ended[pod.name] = self.now_ms

    def kill_node(self, pod: Pod) -> None:
        """The node of the pod is lost."""
        pod.node_lost = True
        self.slots = {slot: holder for slot, holder in self.slots.items() if holder != pod.incarnation}

    def converge(self, passes: int = 80) -> None:
        """Passes and steps until a pass has nothing to do, and nothing happens by itself either."""
        idle = 0
        for _ in range(passes):
            actions = plan(self.observed(), SETTINGS)
            self.do(actions)
            self.step()
            idle = 0 if actions else idle + 1
            is_awaited = any(pod.exit_code == 0 and not pod.node_lost for pod in self.pods.values())
            if idle > 3 and not is_awaited:
                return
        raise AssertionError(f"no end after {passes} passes: {self.story()}")

    def story(self) -> str:
        """What was done, for whoever reads a failure."""
        now = [f"{p.name} {p.phase} age={p.age} slot={self.slot(p)} {p.template}" for p in self.pods.values()]
        return "\n".join([str(self.job.spec.replicas), str(self.job.spec.standbys), *self.log[-60:], "now:", *now])


def _told(action: Action) -> str:
    match action:
        case CreatePod(pod):
            return f"create {pod['metadata']['name']}"
        case SetStatus():
            return f"status {action.status.get('phase')}"
    return str(action)[:200]
