"""An operator that is started before the CRD was made ends and says so: it would wait for ever, and seem healthy."""

# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Mapping

import pytest
from typer.testing import CliRunner
from urllib3.exceptions import ProtocolError

from tandem_operator import cli
from tandem_operator.actions import Object
from tandem_operator.api import ApiError
from unit.operator.tiny_api import TinyApi


class Asked(TinyApi):
    """Answers each listing with an error, or with nothing."""

    def __init__(self, answer: Exception | None) -> None:
        super().__init__()
        self._answer = answer

    def _ask(self, *_: str) -> None:
        if self._answer is not None:
            raise self._answer


def test_the_crd_is_named_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_INSTALLED_S", 0.0)
    monkeypatch.setattr(cli, "_api", lambda *_: Asked(ApiError(404, "NotFound", "the server could not find it")))
    done = CliRunner().invoke(cli.app, ["run", "--default-image", "tandem:1", "--metrics-port", "0"])

    assert done.exit_code == 1
    assert "The API server knows no ReplicatedStreamJob. Install the CRD: kubectl apply -f crds/" in done.output


@pytest.mark.parametrize(
    "answer", [None, ApiError(403, "Forbidden", "no"), ApiError(503, "", "busy"), ProtocolError("closed")]
)
def test_whatever_else_is_wrong_may_pass(answer: Exception | None) -> None:
    assert cli._is_known(Asked(answer), ("streaming",))


def test_the_kind_is_looked_for_where_the_operator_may_look() -> None:
    class OneForbidden(TinyApi):
        def list(
            self, kind: str, namespace: str, selector: Mapping[str, str] | None = None, most: int | None = None
        ) -> list[Object]:
            status, reason = (403, "Forbidden") if namespace == "closed" else (404, "NotFound")
            raise ApiError(status, reason, "no")

    assert not cli._is_known(OneForbidden(), ("closed", "open"))


def test_check_names_each_namespace_that_refuses_and_those_that_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneForbidden(TinyApi):
        def list(
            self, kind: str, namespace: str, selector: Mapping[str, str] | None = None, most: int | None = None
        ) -> list[Object]:
            if namespace == "closed":
                raise ApiError(403, "Forbidden", "it is forbidden")
            return []

    monkeypatch.setattr(cli, "_api", OneForbidden)
    done = CliRunner().invoke(cli.app, ["check", "--namespaces", "closed, open"])

    assert done.exit_code == 1
    assert "closed: the API server refuses: it is forbidden." in done.output
    assert "open: 0 ReplicatedStreamJobs" in done.output
