"""Asking the processes in a job's pods how they stand. Who does not answer in time is not waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import aiohttp

from tandem.listening import in_brackets
from tandem.status.report import OrdererReport, ReplicaReport, decode

_TIMEOUT: Final = aiohttp.ClientTimeout(total=1.0)
_LARGEST: Final = 65_536


class Reports:
    """One HTTP session for all jobs. To be made and closed inside the event loop."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT, auto_decompress=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def of(self, addresses: Iterable[tuple[str, int]]) -> dict[tuple[str, int], ReplicaReport | OrdererReport]:
        """Address and port → what is reported there, of those that answer within a second."""
        wanted = tuple(addresses)
        answers = await asyncio.gather(*(self._ask(ip, port) for ip, port in wanted))
        return {at: answer for at, answer in zip(wanted, answers, strict=True) if answer is not None}

    async def _ask(self, ip: str, port: int) -> ReplicaReport | OrdererReport | None:
        try:
            async with self._session.get(f"http://{in_brackets(ip)}:{port}/status", allow_redirects=False) as response:
                if response.status != 200:
                    return None
                content = await _at_most(response.content, _LARGEST)
                return None if content is None else decode(content)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None


async def _at_most(stream: aiohttp.StreamReader, length: int) -> bytes | None:
    """All of it, in bytes; None if it is longer: whose pod it is does not matter to the jobs of others."""
    content = b""
    async for part in stream.iter_any():
        content += part
        if len(content) > length:
            return None
    return content
