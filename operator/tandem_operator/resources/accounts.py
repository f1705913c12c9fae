"""As whom a job's pods run: as an account of the job's own, which may do nothing; with executors, manage those."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.resources.names import metadata


def account_name(job: ReplicatedStreamJob) -> str:
    """The service account of the job's pods."""
    return job.spec.service_account or job.name


def accounts(job: ReplicatedStreamJob, uid: str) -> list[dict[str, Any]]:
    """The account and its rights, unless the user has named another one: then its rights are the user's affair."""
    if job.spec.service_account is not None:
        return []
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(job, uid, job.name),
        "automountServiceAccountToken": False,
    }
    return [account, *(_rights(job, uid) if job.spec.executors.instances else [])]


def driver_role(account: str) -> str:
    """The name of the role, and of its binding, by which `account` may manage executors."""
    return f"{account}-driver"


def _rights(job: ReplicatedStreamJob, uid: str) -> list[dict[str, Any]]:
    group, name = "rbac.authorization.k8s.io", driver_role(job.name)
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "Role",
        "metadata": metadata(job, uid, name),
        "rules": [
            {
                "apiGroups": [""],
                "resources": ["pods"],
                "verbs": ["get", "list", "watch", "create", "patch", "delete", "deletecollection"],
            }
        ],
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(job, uid, name),
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": job.name, "namespace": job.metadata.namespace}],
    }
    return [role, binding]
