"""One namespace that is gone, or in which rights are missing, is said, and costs the others nothing."""

# ruff: noqa: ARG002

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import kopf
import pytest
import yaml
from aiohttp import web
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from tandem.manifest import API_VERSION, KIND
from tandem_operator import wiring
from tandem_operator.actions import Object
from tandem_operator.api import ApiError
from tandem_operator.crd.document import GROUP, PLURAL, VERSION
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.reach import LOOK_S, SAY_S, Reach
from tandem_operator.store import Key, Store
from unit.operator.tiny_api import TinyApi

FORBIDDEN = ApiError(403, "Forbidden", "pods is forbidden: User may not list pods")


class Refusing(TinyApi):
    """`answers` : what each namespace is answered; none: no objects."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Exception] = {}

    def list(
        self, kind: str, namespace: str, selector: Mapping[str, str] | None = None, most: int | None = None
    ) -> list[Object]:
        if namespace in self.answers and kind == "Pod":
            raise self.answers[namespace]
        return []


class Rounds:
    """A reach that looks when a test says so."""

    def __init__(self, *namespaces: str) -> None:
        self.api, self.registry, self.now_s = Refusing(), CollectorRegistry(), 1000.0
        self.namespaces = namespaces
        self.reach = Reach(self.api, namespaces, OperatorMetrics(self.registry), lambda: self.now_s)
        self.passed: list[Key] = []

    def look(self, after_s: float = LOOK_S) -> list[tuple[str, str]]:
        """All are looked at; returns what is said, and of which."""
        self.now_s += after_s
        with capture_logs() as lines:
            for namespace in self.namespaces or ("",):
                asyncio.run(self.reach.look(namespace))
        return [(line["event"], line["namespace"]) for line in lines]

    def closed(self, namespace: str) -> float | None:
        return self.registry.get_sample_value("tandem_operator_namespace_closed", {"namespace": namespace})

    def passes(self, *namespaces: str) -> list[str]:
        """The namespaces of those jobs over which a pass is made."""

        async def reconcile(key: Key) -> float | None:
            self.passed.append(key)
            return 1.0

        async def all_of_them() -> None:
            for namespace in namespaces:
                await self.reach.guarding(reconcile)(Key(namespace, "orders"))

        self.passed.clear()
        asyncio.run(all_of_them())
        return [key.namespace for key in self.passed]


def test_a_closed_namespace_is_said_once_with_what_to_do() -> None:
    rounds = Rounds("shop", "bank")
    rounds.api.answers["bank"] = FORBIDDEN
    with capture_logs() as lines:
        asyncio.run(rounds.reach.look("bank"))

    (line,) = lines
    assert (line["event"], line["log_level"], line["namespace"]) == ("namespace_closed", "warning", "bank")
    assert line["reason"] == str(FORBIDDEN)
    assert "helm upgrade" in line["remedy"]
    assert rounds.look() == []


def test_it_is_said_again_after_a_while_and_when_it_is_open() -> None:
    rounds = Rounds("shop", "bank")
    rounds.api.answers["bank"] = FORBIDDEN
    assert rounds.look() == [("namespace_closed", "bank")]
    assert rounds.look(SAY_S) == [("namespace_closed", "bank")]

    rounds.api.answers.clear()
    assert rounds.look() == [("namespace_open", "bank")]
    assert rounds.look() == []


def test_the_metric_says_which_one_is_closed() -> None:
    rounds = Rounds("shop", "bank")
    rounds.api.answers["bank"] = ApiError(404, "NotFound", "no such thing")
    rounds.look()
    assert (rounds.closed("shop"), rounds.closed("bank")) == (0, 1)

    rounds.api.answers.clear()
    rounds.look()
    assert (rounds.closed("shop"), rounds.closed("bank")) == (0, 0)


def test_jobs_of_a_closed_namespace_wait_and_all_others_do_not() -> None:
    rounds = Rounds("shop", "bank")
    rounds.api.answers["bank"] = FORBIDDEN
    rounds.look()
    assert rounds.passes("shop", "bank") == ["shop"]

    rounds.api.answers.clear()
    rounds.look()
    assert rounds.passes("shop", "bank") == ["shop", "bank"]


def test_an_operator_of_all_namespaces_may_be_kept_out_of_all() -> None:
    rounds = Rounds()
    rounds.api.answers[""] = FORBIDDEN
    assert rounds.look() == [("namespace_closed", "*")]
    assert rounds.passes("shop") == []


@pytest.mark.parametrize("before", [None, FORBIDDEN])
def test_a_busy_server_changes_nothing(before: ApiError | None) -> None:
    rounds = Rounds("bank")
    if before is not None:
        rounds.api.answers["bank"] = before
    rounds.look()
    rounds.api.answers["bank"] = ApiError(503, "", "busy")

    assert rounds.look() == []
    assert rounds.reach.is_closed("bank") is (before is not None)


def test_kopf_never_gives_a_request_up_and_tries_it_at_least_twice_a_minute() -> None:
    waits = wiring.settings().networking.error_backoffs
    assert not isinstance(waits, float)

    first = list(islice(waits, 10_000))
    assert len(first) == 10_000
    assert max(first) <= 30
    assert next(iter(waits)) == first[0]


def test_what_is_listed_comes_in_chunks_so_that_all_nodes_of_a_large_cluster_are_never_in_memory() -> None:
    assert wiring.settings().watching.chunk_size == 100


JOBS = f"/apis/{GROUP}/{VERSION}/namespaces/{{namespace}}/{PLURAL}"
RESOURCES = {
    "/api/v1": [("pods", "Pod", True), ("namespaces", "Namespace", False), ("events", "Event", True)],
    f"/apis/{GROUP}/{VERSION}": [(PLURAL, KIND, True)],
    "/apis/apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition", False)],
}


class Server:
    """An API server that kopf can watch: a job in each namespace; `closed` ones are forbidden, which is counted."""

    def __init__(self, *closed: str) -> None:
        self.closed, self.refused = set(closed), 0
        self.app = web.Application()
        self.app.router.add_get("/api", self._versions)
        self.app.router.add_get("/apis", self._groups)
        for path in RESOURCES:
            self.app.router.add_get(path, self._resources)
        self.app.router.add_get(JOBS, self._jobs)
        self.app.router.add_get("/api/v1/namespaces/{namespace}/pods", self._jobs)

    async def _versions(self, _: web.Request) -> web.Response:
        return web.json_response({"versions": ["v1"]})

    async def _groups(self, _: web.Request) -> web.Response:
        named = [path.removeprefix("/apis/").split("/") for path in RESOURCES if path.startswith("/apis/")]
        groups = [{"name": name, "versions": [{"version": v}], "preferredVersion": {"version": v}} for name, v in named]
        return web.json_response({"groups": groups})

    async def _resources(self, request: web.Request) -> web.Response:
        there = [
            {"name": name, "kind": kind, "singularName": "", "namespaced": is_namespaced, "verbs": ["list", "watch"]}
            for name, kind, is_namespaced in RESOURCES[request.path]
        ]
        return web.json_response({"resources": there})

    async def _jobs(self, request: web.Request) -> web.StreamResponse:
        namespace = request.match_info["namespace"]
        if namespace in self.closed:
            self.refused += 1
            return web.json_response({"kind": "Status", "code": 403, "message": "forbidden"}, status=403)
        if "watch" in request.query:
            stream = web.StreamResponse()
            await stream.prepare(request)
            await asyncio.sleep(60)
            return stream
        metadata = {"name": "orders", "namespace": namespace, "uid": namespace, "resourceVersion": "7"}
        jobs = [{"metadata": metadata}] if request.path.endswith(PLURAL) else []
        answer = {"kind": f"{KIND}List", "apiVersion": API_VERSION, "metadata": {"resourceVersion": "7"}, "items": jobs}
        return web.json_response(answer)


class Woken:
    """What the watches wake."""

    def __init__(self) -> None:
        self.keys: set[Key] = set()

    def wake(self, key: Key) -> None:
        self.keys.add(key)

    def forget(self, key: Key) -> None:
        self.keys.discard(key)


async def until(holds: Any) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


def test_a_namespace_that_is_forbidden_for_long_ends_no_watch_of_another_and_is_watched_when_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "_FIRST_S", (0.01,) * 8, raising=False)
    monkeypatch.setattr(wiring, "_THEN_S", 0.02, raising=False)

    async def watched() -> None:
        server, woken = Server("bank"), Woken()
        runner = web.AppRunner(server.app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        (address,) = runner.addresses
        _name_server(tmp_path / "kubeconfig", f"http://127.0.0.1:{address[1]}", monkeypatch)
        scope = wiring.Scope(("bank", "shop"))
        registry = wiring.registry_of(Store(), woken, scope)
        settings = wiring.settings()
        running = asyncio.create_task(
            kopf.operator(registry=registry, settings=settings, standalone=True, namespaces=scope.namespaces)
        )
        try:
            await until(lambda: Key("shop", "orders") in woken.keys)
            await until(lambda: server.refused > 30 or running.done())
            assert not running.done()
            server.closed.clear()
            await until(lambda: Key("bank", "orders") in woken.keys)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await runner.cleanup()

    asyncio.run(watched())


def _name_server(path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "here", "cluster": {"server": url}}],
                "users": [{"name": "me", "user": {"token": "t"}}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            }
        )
    )
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path))
