"""An API server in mind: it keeps the objects of one namespace, and refuses what it is told to refuse."""

# ruff: noqa: ARG002

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tandem.manifest import KIND
from tandem_operator.actions import Object, Verb
from tandem_operator.api import Api, ApiError

Refuse = Callable[[str, str, str], ApiError | None]
"""Verb, kind, name → why it is refused."""

CREATED = "2027-01-15T08:00:00Z"
FORBIDDEN = ApiError(403, "Forbidden", "exceeded quota: few")


def refuses(verb: str, kind: str, name: str = "") -> Refuse:
    """That verb of that kind is forbidden, for names that begin so."""

    def refuse(asked: str, of: str, called: str) -> ApiError | None:
        return FORBIDDEN if (asked, of) == (verb, kind) and called.startswith(name) else None

    return refuse


class KilledError(Exception):
    """The operator ends here."""


def kills_before(write: int) -> Refuse:
    """The operator is killed before it writes for the `write`-th time, counted from 0."""
    left = write

    def refuse(verb: str, *_: str) -> ApiError | None:
        nonlocal left
        if verb in ("get", "list"):
            return None
        left -= 1
        if left < 0:
            raise KilledError
        return None

    return refuse


class TinyApi(Api):
    """`done` : what was written, as verb, kind and name. Objects are copies, as over the network."""

    def __init__(self, asked: Callable[[Verb], None] = lambda _: None) -> None:
        self._asked = asked
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.done: list[tuple[str, str, str]] = []
        self.refuse: Refuse = lambda *_: None
        self._version = 0

    def put(self, thing: Object) -> dict[str, Any]:
        """Somebody else makes or changes an object."""
        self._version += 1
        kept = json.loads(json.dumps(thing))
        kept["metadata"].setdefault("uid", f"uid-{self._version}")
        kept["metadata"].setdefault("creationTimestamp", CREATED)
        kept["metadata"]["resourceVersion"] = str(self._version)
        self.objects[kept["kind"], kept["metadata"]["name"]] = kept
        return self._copy(kept)

    def roll_versions_back(self) -> None:
        """As when etcd is restored from a backup: nothing has changed but the versions."""
        self._version = 0
        for thing in list(self.objects.values()):
            self.put(thing)
        self._version = 0

    def named(self, kind: str) -> list[str]:
        """The names of all objects of a kind."""
        return sorted(name for of, name in self.objects if of == kind)

    def writes(self, verb: str) -> list[str]:
        """The names of what was written with that verb."""
        return [name for done, _, name in self.done if done == verb]

    def list(
        self, kind: str, namespace: str, selector: Mapping[str, str] | None = None, most: int | None = None
    ) -> list[Object]:
        self._ask("list", kind, "")
        wanted = (selector or {}).items()
        found = [thing for (of, _), thing in sorted(self.objects.items()) if of == kind]
        return [self._copy(thing) for thing in found if wanted <= thing["metadata"].get("labels", {}).items()]

    def get(self, kind: str, namespace: str, name: str) -> Object:
        self._ask("get", kind, name)
        return self._copy(self._find(kind, name))

    def create(self, namespace: str, body: Object, only_try: bool = False) -> Object:
        metadata = body["metadata"]
        name = metadata.get("name") or f"{metadata['generateName']}{len(self.done)}"
        self._ask("create", body["kind"], name)
        if only_try:
            return body
        if (body["kind"], name) in self.objects:
            raise ApiError(409, "AlreadyExists", f"{name} already exists")
        self.done.append(("create", body["kind"], name))
        return self.put({**body, "metadata": {**metadata, "name": name}})

    def apply(self, namespace: str, body: Object) -> Object:
        name = body["metadata"]["name"]
        self._ask("apply", body["kind"], name)
        self.done.append(("apply", body["kind"], name))
        there = self.objects.get((body["kind"], name))
        same = {} if there is None else {"uid": there["metadata"]["uid"]}
        return self.put({**body, "metadata": {**body["metadata"], **same}})

    def merge(self, kind: str, namespace: str, name: str, body: Object) -> Object:
        self._ask("merge", kind, name)
        there, asked = self._find(kind, name), body.get("metadata", {})
        metadata = there["metadata"]
        if any(asked.get(key, metadata[key]) != metadata[key] for key in ("uid", "resourceVersion")):
            raise ApiError(409, "Conflict", f"{name} has been modified")
        self.done.append(("merge", kind, name))
        for what in ("labels", "annotations"):
            metadata[what] = metadata.get(what, {}) | asked.get(what, {})
        there["spec"] = there["spec"] | body.get("spec", {})
        metadata["finalizers"] = asked.get("finalizers", metadata.get("finalizers", []))
        changed = self.put(there)
        if "deletionTimestamp" in metadata and not metadata["finalizers"]:
            del self.objects[kind, name]
        return changed

    def doom(self, kind: str, name: str) -> None:
        """A user deletes an object: it stays as long as it has finalizers."""
        there = self.objects[kind, name]
        if there["metadata"].get("finalizers"):
            self.put({**there, "metadata": {**there["metadata"], "deletionTimestamp": CREATED}})
        else:
            del self.objects[kind, name]

    def set_status(self, kind: str, namespace: str, name: str, uid: str, version: str, status: Object) -> Object:
        self._ask("set_status", kind, name)
        there = self._find(kind, name)
        if there["metadata"]["uid"] != uid:
            raise ApiError(422, "Invalid", "the test of the uid failed")
        if there["metadata"]["resourceVersion"] != version:
            raise ApiError(409, "Conflict", f"{name} has been modified")
        self.done.append(("set_status", kind, name))
        return self.put({**there, "status": status})

    def delete(self, kind: str, namespace: str, name: str, uid: str = "", grace_s: int | None = None) -> None:
        self._ask("delete", kind, name)
        there = self.objects.get((kind, name))
        if there is not None and uid in ("", there["metadata"]["uid"]):
            self.done.append(("delete", kind, name))
            del self.objects[kind, name]

    def events(self) -> Sequence[tuple[str, str]]:
        """Type and reason of all events, as they were told."""
        told = [self.objects["Event", name] for verb, kind, name in self.done if (verb, kind) == ("create", "Event")]
        return [(event["type"], event["reason"]) for event in told]

    def progressing(self) -> dict[str, Any]:
        """The condition of the only job."""
        (job,) = self.named(KIND)
        conditions = self.objects[KIND, job]["status"]["conditions"]
        return next(condition for condition in conditions if condition["type"] == "Progressing")

    def _ask(self, verb: Verb, kind: str, name: str) -> None:
        self._asked(verb)
        error = self.refuse(verb, kind, name)
        if error is not None:
            raise error

    def _find(self, kind: str, name: str) -> dict[str, Any]:
        try:
            return self.objects[kind, name]
        except KeyError:
            raise ApiError(404, "NotFound", f"{name} not found") from None

    @staticmethod
    def _copy(thing: Object) -> dict[str, Any]:
        copied: dict[str, Any] = json.loads(json.dumps(thing))
        return copied
