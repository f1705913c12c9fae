"""Asking the processes in a job's pods how they stand. Who does not answer in time is not waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import aiohttp

from tandem.report import OrdererReport, ReplicaReport, decode

_TIMEOUT: Final = aiohttp.ClientTimeout(total=1.0)
_LARGEST: Final = 65_536


class Reports:
    """One HTTP session for all jobs. To be made and closed inside the event loop."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def of(self, addresses: Iterable[tuple[str, int]]) -> dict[tuple[str, int], ReplicaReport | OrdererReport]:
        """Address and port → what is reported there, of those that answer within a second."""
        wanted = tuple(addresses)
        answers = await asyncio.gather(*(self._ask(ip, port) for ip, port in wanted))
        return {at: answer for at, answer in zip(wanted, answers, strict=True) if answer is not None}

    async def _ask(self, ip: str, port: int) -> ReplicaReport | OrdererReport | None:
        host = f"[{ip}]" if ":" in ip else ip
        try:
            async with self._session.get(f"http://{host}:{port}/status", allow_redirects=False) as response:
                if response.status != 200:
                    return None
                content = await response.read()
                return decode(content) if len(content) <= _LARGEST else None
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None
