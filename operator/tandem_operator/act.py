"""Carrying out actions. Nothing is decided here; each action may be repeated, so what is done already is a success."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tandem.logs import get_logger
from tandem.manifest import API_VERSION, KIND, ReplicatedStreamJob
from tandem_operator.actions import (
    Action,
    Apply,
    Ask,
    Create,
    CreatePod,
    Delete,
    DeletePod,
    Emit,
    LabelPod,
    Object,
    SetFinalizers,
    SetStatus,
    Switch,
    TryPod,
)
from tandem_operator.api import Api, ApiError, LeftoverError
from tandem_operator.resources import Settings, tasks
from tandem_operator.resources.names import MANAGER
from tandem_operator.store import Key

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """The job that a pass is about."""

    job: ReplicatedStreamJob
    uid: str

    @property
    def namespace(self) -> str:
        """Of the job and of everything that it owns."""
        return self.job.metadata.namespace


class Actor:
    """Blocking; safe for several threads, one for each job."""

    def __init__(self, api: Api, settings: Settings, me: str) -> None:
        self._api, self._settings, self._me = api, settings, me

    def carry_out(self, target: Target, action: Action) -> Object | None:
        """Do it; returns the pod or the job that was made or changed. Raises `ApiError`."""
        api, where = self._api, target.namespace
        match action:
            case CreatePod(pod):
                return self._create(target, pod)
            case TryPod(pod):
                self._try(where, pod)
            case DeletePod():
                _log.info("delete_pod", pod=action.name, why=action.why)
                api.delete("Pod", where, action.name, action.uid, action.grace_s)
            case Apply(thing):
                self._apply(target, thing)
            case Create(thing):
                self._create(target, thing)
            case Delete():
                api.delete(action.kind, where, action.name, action.uid)
            case LabelPod():
                return self._merge("Pod", where, action.name, action.uid, {"metadata": {"labels": dict(action.labels)}})
            case Ask():
                return self._merge(KIND, where, action.name, action.uid, action.change)
            case Switch():
                self._create(target, self._switch(target, action))
            case SetFinalizers():
                return self._finalize(target, action)
        return None

    def tell(self, key: Key, uid: str, version: str, action: Action) -> Object | None:
        """Those actions that concern the job itself: for one whose spec cannot be read, too. `version`: it was seen in."""
        match action:
            case SetStatus():
                return self._api.set_status(KIND, key.namespace, key.name, uid, version, action.status)
            case Emit():
                self._emit(key, uid, action)
        return None

    def _emit(self, key: Key, uid: str, action: Emit) -> None:
        try:
            self._api.create(key.namespace, self._event(key, uid, action))
        except ApiError as error:
            if not action.once or error.reason != "AlreadyExists":
                raise

    def _apply(self, target: Target, thing: Object) -> None:
        kind, name = thing["kind"], thing["metadata"]["name"]
        try:
            self._refuse_foreign(target, self._api.get(kind, target.namespace, name))
        except ApiError as error:
            if error.status != 404:
                raise
        self._api.apply(target.namespace, thing)

    def _create(self, target: Target, thing: Object) -> Object:
        try:
            return self._api.create(target.namespace, thing)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        there = self._api.get(thing["kind"], target.namespace, thing["metadata"]["name"])
        self._refuse_foreign(target, there)
        return there

    def _try(self, namespace: str, pod: Object) -> None:
        try:
            self._api.create(namespace, pod, only_try=True)
        except ApiError as error:
            if not error.is_quota:
                raise

    @staticmethod
    def _refuse_foreign(target: Target, there: Object) -> None:
        """An object of that name that the job does not own is left alone."""
        metadata = there["metadata"]
        owners = metadata.get("ownerReferences", ())
        if any(owner["uid"] == target.uid for owner in owners):
            return
        what = f"{there.get('kind', 'an object')} {metadata['name']} exists, and"
        if any((owner.get("kind"), owner.get("name")) == (KIND, target.job.name) for owner in owners):
            raise LeftoverError(409, "AlreadyExists", f"{what} goes with the former job of this name")
        raise ApiError(409, "AlreadyExists", f"{what} belongs to somebody else: rename that, or the job")

    def _merge(self, kind: str, namespace: str, name: str, uid: str, change: Object) -> Object | None:
        same = {**change, "metadata": {**change.get("metadata", {}), "uid": uid}}
        try:
            return self._api.merge(kind, namespace, name, same)
        except ApiError as error:
            if error.status in (404, 409):  # it is gone, or another one has its name
                return None
            raise

    def _finalize(self, target: Target, action: SetFinalizers) -> Object | None:
        metadata = {"uid": target.uid, "resourceVersion": action.version, "finalizers": list(action.finalizers)}
        try:
            job = self._api.merge(KIND, target.namespace, target.job.name, {"metadata": metadata})
        except ApiError as error:
            if error.status in (404, 409):  # it is gone, or somebody has changed it meanwhile
                return None
            raise
        return None if "deletionTimestamp" in job["metadata"] else job  # the last of one that is gone by now

    def _switch(self, target: Target, action: Switch) -> Object:
        job = action.job or target.job
        if action.drains:
            return tasks.drain(job, target.uid, self._settings, action.leaves, to_nobody=action.successor is None)
        return tasks.promotion(job, target.uid, self._settings, action.leaves, action.successor or "")

    def _event(self, key: Key, uid: str, action: Emit) -> dict[str, Any]:
        now = datetime.now(UTC)
        stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        name = {"name": f"{key.name}.{action.once}"} if action.once else {"generateName": f"{key.name}."}
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {**name, "namespace": key.namespace},
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "name": key.name,
                "namespace": key.namespace,
                "uid": uid,
            },
            "type": action.type,
            "reason": action.reason,
            "message": action.message[:1024],
            "source": {"component": MANAGER},
            "reportingComponent": MANAGER,
            "reportingInstance": self._me,
            "firstTimestamp": f"{stamp[:19]}Z",
            "lastTimestamp": f"{stamp[:19]}Z",
            "count": 1,
        }
