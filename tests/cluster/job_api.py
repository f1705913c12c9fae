"""ReplicatedStreamJobs over one connection to the API server: for hundreds of checks, without a kubectl for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from kubernetes import client, config

from cluster.kubernetes import CALL_S, Object, RefusedError
from tandem.waiting import Deadline, wait_until

_STRICT: Final = {"dry_run": "All", "field_validation": "Strict"}
"""What `kubectl --dry-run=server --validate=strict` asks for."""


class ConflictError(RefusedError):
    """Another has changed the object meanwhile."""


class MissingError(RefusedError):
    """There is no such object."""


_ERRORS: Final = {HTTPStatus.CONFLICT: ConflictError, HTTPStatus.NOT_FOUND: MissingError}


@dataclass(frozen=True)
class JobApi:
    """The jobs of one namespace. Every method raises `RefusedError` with what the API server says."""

    namespace: str
    connection: client.ApiClient

    def create(self, manifest: Object) -> None:
        """Create a job."""
        self._asked("create", manifest)

    def check(self, manifest: Object) -> None:
        """Let the API server check a new job, with all its keys."""
        self._asked("create", manifest, **_STRICT)

    def check_change(self, manifest: Object) -> None:
        """Let the API server check a change of a job. Raises `ConflictError` if its version is another one by now."""
        self._asked("replace", manifest["metadata"]["name"], manifest, **_STRICT)

    def get(self, name: str) -> Object:
        """A job; {} if there is none."""
        try:
            found: Object = self._asked("get", name)
        except MissingError:
            return {}
        return found

    def delete(self, name: str) -> None:
        """Delete a job, and wait until it is gone."""
        self._asked("delete", name)
        assert wait_until(lambda: not self.get(name), Deadline(CALL_S)), f"{name} is not gone within {CALL_S:.0f} s"

    def _asked(self, verb: str, *arguments: Any, **options: Any) -> Any:
        call = getattr(client.CustomObjectsApi(self.connection), f"{verb}_namespaced_custom_object")
        place = ("tandem.dev", "v1alpha1", self.namespace, "replicatedstreamjobs")
        try:
            return call(*place, *arguments, **options, _request_timeout=CALL_S)
        except client.ApiException as error:
            said = json.loads(error.body)["message"]
            raise _ERRORS.get(HTTPStatus(error.status), RefusedError)(said) from None


@contextmanager
def jobs_of(namespace: str) -> Iterator[JobApi]:
    """The jobs of a namespace, of the cluster that KUBECONFIG names."""
    with config.new_client_from_config() as connection:
        yield JobApi(namespace, connection)
