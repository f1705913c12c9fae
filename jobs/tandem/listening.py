"""Where a process listens: on every address of the machine, of IPv4 and IPv6 alike, or on one."""

import ipaddress
import socket

EVERYWHERE = ""
"""All addresses of both families."""


def listen(host: str, port: int) -> socket.socket:
    """A TCP socket that listens at `host` on `port` (0: any free one). Raises `OSError` if it cannot.

    `""` and `::` are all addresses of both families, or those of IPv4 on a machine without IPv6; `0.0.0.0` those of IPv4.
    """
    host = host.removeprefix("[").removesuffix("]")
    if host == EVERYWHERE or (is_everywhere(host) and ":" in host):
        if socket.has_dualstack_ipv6():
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        host = "0.0.0.0"  # noqa: S104
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def is_everywhere(host: str) -> bool:
    """Whether what listens at `host` is reached by every address of the machine, so that `host` says nothing to others."""
    try:
        return host == EVERYWHERE or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False  # a name


def in_brackets(host: str) -> str:
    """As it stands in a URL, and before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
