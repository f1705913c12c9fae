"""Who is asked how it stands is believed as far as it can be understood, and not listened to for longer than that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tandem.status.report import OrdererReport, ReplicaReport, encode
from tandem_operator.reports import Reports

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PART = bytes(65_536)
PARTS = 512


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator waits for a second; here nothing is about that, and a busy machine may take longer."""
    monkeypatch.setattr("tandem_operator.reports._TIMEOUT", aiohttp.ClientTimeout(total=20.0))


def answer(handler: Handler) -> ReplicaReport | OrdererReport | None:
    """What is made of the answer of a pod whose `/status` is that."""

    async def asked() -> ReplicaReport | OrdererReport | None:
        app = web.Application()
        app.router.add_get("/status", handler)
        reports = Reports()
        async with TestServer(app) as server:
            at = ("127.0.0.1", int(server.port or 0))
            told = await reports.of([at])
            await reports.close()
        return told.get(at)

    return asyncio.run(asked())


def test_a_report_is_read() -> None:
    report = ReplicaReport("replica-0", "flights.replica-0.u", "active")

    async def tells(_: web.Request) -> web.Response:
        return web.Response(body=encode(report))

    assert answer(tells) == report


def test_what_is_no_report_is_none() -> None:
    async def babbles(_: web.Request) -> web.Response:
        return web.Response(text="<html>")

    async def fails(_: web.Request) -> web.Response:
        return web.Response(status=503)

    assert answer(babbles) is None
    assert answer(fails) is None


def test_one_that_does_not_end_is_hung_up_on() -> None:
    sent = 0

    async def never_ends(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(PARTS):
            await response.write(PART)
            sent += 1
        return response

    assert answer(never_ends) is None
    assert 0 < sent < PARTS
