"""The Kubernetes API, as far as a pass needs it: objects as plain mappings, five verbs, one table of kinds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubernetes import client
from urllib3.exceptions import ReadTimeoutError

from tandem.manifest import API_VERSION, KIND
from tandem_operator.actions import Object, Verb
from tandem_operator.crd.document import PLURAL
from tandem_operator.resources.names import MANAGER

_TIMEOUT_S: Final = 15.0
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_JSON: Final = "application/json"
_JSON_PATCH: Final = "application/json-patch+json"
_GOOD: Final = (200, 201, 202)

_KINDS: Final = {
    "Pod": ("api/v1", "pods"),
    "ConfigMap": ("api/v1", "configmaps"),
    "Service": ("api/v1", "services"),
    "ServiceAccount": ("api/v1", "serviceaccounts"),
    "Event": ("api/v1", "events"),
    "ControllerRevision": ("apis/apps/v1", "controllerrevisions"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies"),
    "Role": ("apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    KIND: (f"apis/{API_VERSION}", PLURAL),
}


class ApiError(Exception):
    """The API server refused. `status` is HTTP's; `reason` Kubernetes' (AlreadyExists, Conflict, NotFound, Invalid, …)."""

    def __init__(self, status: int, reason: str, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.status, self.reason, self._causes = status, reason, causes

    @property
    def is_passing(self) -> bool:
        """Whether it was put off (too many requests), or went wrong in the server: no judgement of what was asked."""
        return self.status == 429 or self.status >= 500

    @property
    def is_quota(self) -> bool:
        """Whether a quota of the namespace is used up."""
        return self.status == 403 and "exceeded quota" in str(self)

    @property
    def is_terminating(self) -> bool:
        """Whether the namespace is being deleted: nothing can be made in it, and nothing need be."""
        return "NamespaceTerminating" in self._causes


class LeftoverError(ApiError):
    """An object of that name is about to go, with the job that it belongs to."""

    @property
    def is_passing(self) -> bool:
        """As long as Kubernetes takes to delete what belonged to something that is gone."""
        return True


class Api:
    """Blocking calls, each bounded by 15 s. Safe for several threads. All raise `ApiError` and urllib3's errors.

    `api_client` : configured, e.g. by `kubernetes.config.load_incluster_config`.
    `asked` : called for each request, in the thread that makes it.
    `dated` : called with the time of each answer, as the server writes it (the header `Date`).
    """

    def __init__(
        self,
        api_client: client.ApiClient,
        asked: Callable[[Verb], None] = lambda _: None,
        dated: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client, self._asked, self._dated = api_client, asked, dated

    def list(
        self, kind: str, namespace: str, selector: Mapping[str, str] | None = None, most: int | None = None
    ) -> list[Object]:
        """Objects of `namespace` ("": of all namespaces) with these labels; not more than `most`."""
        query = [("labelSelector", ",".join(f"{key}={value}" for key, value in (selector or {}).items()))]
        query += [("limit", "" if most is None else str(most))]
        items: list[Object] = self._call("list", "GET", _path(kind, namespace), query=query)["items"]
        return [{"kind": kind, **item} for item in items]

    def get(self, kind: str, namespace: str, name: str) -> Object:
        """One object."""
        return self._call("get", "GET", _path(kind, namespace, name))

    def create(self, namespace: str, body: Object, only_try: bool = False) -> Object:
        """Create an object. Of a pod, whose spec is the user's in part, a field that the server does not know is refused.

        `only_try` : only say what it would be, or why it would be refused.
        """
        query = [("fieldManager", MANAGER), ("fieldValidation", "Strict" if body["kind"] == "Pod" else "")]
        query += [("dryRun", "All")] if only_try else []
        return self._call("create", "POST", _path(str(body["kind"]), namespace), body, _JSON, query)

    def apply(self, namespace: str, body: Object) -> Object:
        """Server-side apply: create, or change the fields that `body` names and we own."""
        query = [("fieldManager", MANAGER), ("force", "true")]
        path = _path(str(body["kind"]), namespace, body["metadata"]["name"])
        return self._call("apply", "PATCH", path, body, _APPLY, query)

    def merge(self, kind: str, namespace: str, name: str, body: Object) -> Object:
        """Change what `body` names; None removes."""
        query = [("fieldManager", MANAGER)]
        return self._call("merge", "PATCH", _path(kind, namespace, name), body, _MERGE, query)

    def set_status(self, kind: str, namespace: str, name: str, uid: str, version: str, status: Object) -> Object:
        """Replace the status of an object, if it is still the one with that uid, and in that version (else: 409)."""
        patch: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "add", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/status", "value": status},
        ]
        query = [("fieldManager", MANAGER)]
        path = f"{_path(kind, namespace, name)}/status"
        return self._call("set_status", "PATCH", path, patch, _JSON_PATCH, query)

    def delete(self, kind: str, namespace: str, name: str, uid: str = "", grace_s: int | None = None) -> None:
        """Delete an object, if it is still the one with that uid. Being gone already is a success."""
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        try:
            self._call("delete", "DELETE", _path(kind, namespace, name), body, _JSON)
        except ApiError as error:
            if error.status not in (404, 409):  # gone, or another one has the name by now
                raise

    def _call(
        self,
        verb: Verb,
        method: str,
        path: str,
        body: Object | Sequence[Object] | None = None,
        content_type: str = "",
        query: Sequence[tuple[str, str]] = (),
    ) -> dict[str, Any]:
        self._asked(verb)
        headers = {"Accept": _JSON, **({"Content-Type": content_type} if content_type else {})}
        try:
            answer, _, headers = self._client.call_api(
                path,
                method,
                query_params=[(key, value) for key, value in query if value],
                header_params=headers,
                body=body,
                response_types_map=dict.fromkeys(_GOOD, "object"),
                auth_settings=["BearerToken"],
                _request_timeout=_TIMEOUT_S,
            )
        except client.ApiException as error:
            self._dated((error.headers or {}).get("Date", ""))
            raise _error(error.status, error.body or "") from error
        except ReadTimeoutError as error:
            raise ApiError(504, "Timeout", f"no answer within {_TIMEOUT_S:.0f} s: {error}") from error
        self._dated(headers.get("Date", ""))
        return dict(answer)


def _path(kind: str, namespace: str, name: str = "") -> str:
    group, plural = _KINDS[kind]
    where = f"namespaces/{namespace}/" if namespace else ""
    return f"/{group}/{where}{plural}" + (f"/{name}" if name else "")


def _error(status: int, content: str) -> ApiError:
    try:
        answer = json.loads(content)
        causes = tuple(str(cause.get("reason")) for cause in (answer.get("details") or {}).get("causes", ()))
        return ApiError(status, str(answer.get("reason", "")), str(answer.get("message", "")), causes)
    except (ValueError, AttributeError):
        return ApiError(status, "", content[:500])
