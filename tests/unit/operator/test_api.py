"""Each request to the API server is counted by what it is for, also one that is refused."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest
from kubernetes import client
from prometheus_client import CollectorRegistry

from tandem_operator.actions import Verb
from tandem_operator.api import Api, ApiError
from tandem_operator.metrics import OperatorMetrics

BODY = {"kind": "ConfigMap", "metadata": {"name": "orders"}}
CALLS: dict[str, Callable[[Api], object]] = {
    "list": lambda api: api.list("Pod", "shop"),
    "get": lambda api: api.get("Pod", "shop", "orders"),
    "create": lambda api: api.create("shop", BODY),
    "apply": lambda api: api.apply("shop", BODY),
    "merge": lambda api: api.merge("Pod", "shop", "orders", {}),
    "set_status": lambda api: api.set_status("ReplicatedStreamJob", "shop", "orders", "uid", "7", {}),
    "delete": lambda api: api.delete("Pod", "shop", "orders"),
}


class Server:
    """An API server that answers everything in the same way."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.paths: list[str] = []
        self.query: dict[str, str] = {}

    def call_api(
        self, path: str, *_: object, query_params: Sequence[tuple[str, str]], **__: object
    ) -> tuple[dict[str, Any], int, dict[str, str]]:
        self.paths.append(path)
        self.query = dict(query_params)
        if self.status >= 300:
            raise client.ApiException(status=self.status)
        return {"items": []}, self.status, {}


def counted(server: Server, call: Callable[[Api], object]) -> dict[str, float]:
    """What the metrics show of a call, but for zeros."""
    registry = CollectorRegistry()
    api = Api(server, OperatorMetrics(registry).asked)
    try:
        call(api)
    except ApiError:
        assert server.status >= 300
    samples = [sample for family in registry.collect() for sample in family.samples]
    shown = [sample for sample in samples if sample.name == "tandem_operator_api_requests_total"]
    assert {sample.labels["verb"] for sample in shown} == set(get_args(Verb)) == set(CALLS)
    return {sample.labels["verb"]: sample.value for sample in shown if sample.value}


def test_a_server_that_does_not_answer_has_put_the_request_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem_operator.api._TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configuration = client.Configuration(host=f"http://127.0.0.1:{silent.getsockname()[1]}")
        configuration.retries = False
        with pytest.raises(ApiError, match="no answer within") as error:
            Api(client.ApiClient(configuration)).create("shop", BODY)
    assert (error.value.status, error.value.reason, error.value.is_passing) == (504, "Timeout", True)


@pytest.mark.parametrize("status", [200, 409, 503])
@pytest.mark.parametrize("verb", CALLS)
def test_a_request_is_counted_once_by_its_verb(verb: str, status: int) -> None:
    server = Server(status)

    assert counted(server, CALLS[verb]) == {verb: 1}
    assert len(server.paths) == 1


def test_a_misspelt_field_of_a_pod_is_refused_by_the_server_which_would_else_drop_it_in_silence() -> None:
    server = Server()

    Api(server).create("shop", {"kind": "Pod", "metadata": {"name": "orders"}, "spec": {"nodeselector": {"zone": "a"}}})
    assert server.query["fieldValidation"] == "Strict"
    Api(server).create("shop", BODY)
    assert "fieldValidation" not in server.query
