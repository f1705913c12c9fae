"""Free TCP ports that stay free while a server is down."""

import random
import socket

from tandem.process.errors import EmbeddedError

# Below the ephemeral ranges of Linux and macOS. From inside those ranges the kernel may hand the port of a stopped server
# to any outgoing connection, even to the very client that keeps trying to reach the server (a TCP self-connect).
LOWEST, HIGHEST = 20_000, 32_000


def free_ports(count: int, host: str = "127.0.0.1", attempts: int = 1_000) -> tuple[int, ...]:
    """Return `count` different ports of `host` on which nobody listens now.

    Raises
    ------
    EmbeddedError
        If not enough ports were found after `attempts` tries.
    """
    found: set[int] = set()
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), min(attempts, HIGHEST - LOWEST)):
        if len(found) == count:
            break
        if is_free(port, host):
            found.add(port)
    if len(found) < count:
        raise EmbeddedError(f"no {count} free ports between {LOWEST} and {HIGHEST} on {host}: pass port=… explicitly")
    return tuple(found)


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def accepts(port: int, host: str = "127.0.0.1", timeout_s: float = 0.5) -> bool:
    """Whether somebody accepts connections on the port now."""
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError:
        return False
    return True
