"""How to reach ZooKeeper."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from tandem.manifest.secrets import SecretReference
from tandem.manifest.values import Duration, Flag, PathText, Section, Within, ZooKeeperConnect


class KazooOptions(TypedDict, total=False):
    """Arguments of `kazoo.client.KazooClient`; the time-out is in seconds."""

    hosts: str
    timeout: float
    auth_data: list[tuple[str, str]]
    use_ssl: bool
    verify_certs: bool
    check_hostname: bool
    ca: str
    certfile: str
    keyfile: str
    keyfile_password: str


class ZooKeeperAuth(Section):
    """An identity for ZooKeeper's access lists."""

    scheme: Literal["digest"] = Field(default="digest", description="How ZooKeeper knows the identity")
    credentials: SecretReference = Field(description="Where `user:password` is")


class ZooKeeperSpec(Section):
    """The ensemble in which the orderers elect their leader."""

    connect: ZooKeeperConnect = Field(
        description="host:port, several separated by commas, and perhaps a chroot: /tandem"
    )
    session_timeout: Annotated[Duration, Within(500, 60_000)] = Field(
        default="2s", validate_default=True, description="After so long a silence, a process loses its slot or the lead"
    )
    use_tls: Flag = Field(default=False, description="Connect by TLS")
    ca_file: PathText | None = Field(default=None, description="PEM; default: the system's certificates")
    cert_file: PathText | None = Field(default=None, description="The client's certificate, PEM")
    key_file: PathText | None = Field(default=None, description="The client's key, PEM")
    key_password: SecretReference | None = Field(default=None, description="What the client's key is encrypted with")
    check_hostname: Flag = Field(default=True, description="Whether the certificate must name the server")
    auth: ZooKeeperAuth | None = Field(default=None, description="An identity for ZooKeeper's access lists")

    def client_options(self, environ: Mapping[str, str], base: Path = Path()) -> KazooOptions:
        """Arguments for kazoo, secrets included; relative files start from `base`.

        Raises `SecretError`: a variable or file that a secret is to come from is missing or empty.
        """
        options = KazooOptions(hosts=self.connect.replace(" ", ""), timeout=self.session_timeout.seconds)
        if self.auth is not None:
            credentials = self.auth.credentials.resolve(environ, base, "spec.zookeeper.auth.credentials")
            options["auth_data"] = [(self.auth.scheme, credentials)]
        if not self.use_tls:
            return options
        options["use_ssl"] = options["verify_certs"] = True
        options["check_hostname"] = self.check_hostname
        if self.ca_file is not None:
            options["ca"] = str(base / self.ca_file)
        if self.cert_file is not None and self.key_file is not None:
            options["certfile"] = str(base / self.cert_file)
            options["keyfile"] = str(base / self.key_file)
        if self.key_password is not None:
            options["keyfile_password"] = self.key_password.resolve(environ, base, "spec.zookeeper.keyPassword")
        return options
