"""A broker and a ZooKeeper that speak TLS and want to know who asks, and the certificate that they show.

Java's keytool makes the certificate: it is its own authority, so whoever trusts it needs nothing else.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.devservers.server import free_ports
from tandem.engine.jvm.java import java_executable

USER: Final = "tandem"
PASSWORD: Final = "a-password-of-the-tests"  # noqa: S105
_KEEP: Final = "the-keystores-password"
_CHROOT: Final = "/secured"


@dataclass(frozen=True)
class Certificate:
    """What a server shows (`keystore`, PKCS #12), and what a client trusts (`ca`, PEM)."""

    keystore: Path
    ca: Path

    @classmethod
    def made(cls, folder: Path, host: str) -> Certificate:
        """A new one for the address `host`."""
        keystore, ca = folder / "server.p12", folder / "ca.pem"
        store = ("-alias", "server", "-keystore", str(keystore), "-storepass", _KEEP)
        names = ("-dname", f"CN={host}", "-ext", f"san=ip:{host}", "-ext", "bc:c=ca:true")
        cls._keytool("-genkeypair", "-keyalg", "EC", "-validity", "2", "-storetype", "PKCS12", *names, *store)
        cls._keytool("-exportcert", "-rfc", "-file", str(ca), *store)
        return cls(keystore, ca)

    @staticmethod
    def _keytool(*arguments: str) -> None:
        keytool = java_executable().resolve().with_name("keytool")
        subprocess.run([str(keytool), *arguments], check=True, capture_output=True, timeout=60)


@dataclass(frozen=True)
class Secured:
    """The servers; both also have a plain port, for those who look on. `zookeeper_tls` and `kafka.sasl_bootstrap`: TLS.

    What is below the chroot of `zookeeper_tls` only `USER` may touch.
    """

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer
    zookeeper_tls: str
    certificate: Certificate

    def kafka_properties(self) -> dict[str, str]:
        """A client's, without the password and the authority."""
        return {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": USER}


@contextmanager
def secured_servers(folder: Path, host: str = "127.0.0.1") -> Iterator[Secured]:
    """Both servers, for as long as the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate = Certificate.made(folder, host)
    store = {"location": str(certificate.keystore), "password": _KEEP}
    of_kafka = {f"listener.name.sasl.ssl.keystore.{key}": value for key, value in store.items()} | {
        "listener.name.sasl.ssl.key.password": _KEEP,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL",
    }
    port = free_ports(1, host)[0]
    of_zookeeper = {f"ssl.keyStore.{key}": value for key, value in store.items()} | {
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "secureClientPort": str(port),
        "secureClientPortAddress": host,
        "ssl.clientAuth": "none",
    }
    with (
        KafkaBroker(folder / "kafka", host=host, sasl_users={USER: PASSWORD}, extra=of_kafka) as kafka,
        ZooKeeperServer(folder / "zookeeper", host=host, extra=of_zookeeper) as zookeeper,
    ):
        _make_chroot(zookeeper)
        yield Secured(kafka, zookeeper, f"{host}:{port}{_CHROOT}", certificate)


def _make_chroot(zookeeper: ZooKeeperServer) -> None:
    client = KazooClient(zookeeper.connect)
    client.start(10)
    client.create(_CHROOT, acl=[make_digest_acl(USER, PASSWORD, all=True)])
    client.stop()
    client.close()
