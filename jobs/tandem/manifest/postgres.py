"""A sink that is a table of a PostgreSQL database."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from tandem.manifest.secrets import SecretReference
from tandem.manifest.values import Count, Flag, PathText, Section, Shape

WriteMode = Literal["append", "upsert"]
"""What becomes of a row: a new row of the table; or it takes the place of the one with the same key."""

SqlName = Annotated[
    str,
    Shape(
        r"[^\x00-\x1f%\"]+",
        "is no name of PostgreSQL",
        "Write the name as the database has it, without quotes and %, e.g. totals",
        63,
    ),
]
Host = Annotated[
    str,
    Shape(
        r"[A-Za-z0-9._:/-]+",
        "is no host",
        "Write a name or an address without a port, e.g. db.example.com; the port is a field of its own",
        512,
    ),
]


class PostgresOptions(TypedDict, total=False):
    """Arguments of `psycopg.connect`, secrets included: never for a log."""

    host: str
    port: int
    dbname: str
    user: str
    password: str
    sslmode: str
    sslrootcert: str
    sslcert: str
    sslkey: str
    sslpassword: str


class PostgresSink(Section):
    """A table of a PostgreSQL database. An epoch's rows and its number are written in one database transaction."""

    host: Host = Field(description="A host, or the folder of a Unix socket")
    port: Count = Field(default=5432, ge=1, le=65_535, description="The server's port")
    database: SqlName = Field(description="The database's name")
    user: SqlName = Field(description="Who writes: needs INSERT on the table, and UPDATE and SELECT for mode upsert")
    password: SecretReference | None = Field(
        default=None, description="The user's password. Default: none, e.g. with a certificate"
    )
    schema_name: SqlName = Field(default="public", alias="schema", description="The table's schema")
    table: SqlName = Field(description="The table, which must be there")
    mode: WriteMode = Field(
        default="append", description="append: each row is a new one. upsert: it replaces the one with the same `key`"
    )
    key: tuple[SqlName, ...] = Field(
        default=(), description="Columns that have a unique index together; needed with, and only with, mode upsert"
    )
    use_tls: Flag = Field(
        default=False,
        description="Connect by TLS only, and check the server's certificate. Without it, TLS is used if the server has it",
    )
    ca_file: PathText | None = Field(
        default=None, description="PEM of the CAs that may have signed the server's certificate; needed with useTls"
    )
    check_hostname: Flag = Field(default=True, description="Whether the certificate must name the host")
    cert_file: PathText | None = Field(default=None, description="PEM of the client's certificate")
    key_file: PathText | None = Field(default=None, description="PEM of the certificate's key")
    key_password: SecretReference | None = Field(default=None, description="Of keyFile, if it is encrypted")

    @property
    def password_variable(self) -> str | None:
        """The environment variable with the user's password; None: it is in a file, or there is none."""
        return None if self.password is None else self.password.env

    def options(self, environ: Mapping[str, str], base: Path, sink: str) -> PostgresOptions:
        """What to connect with, secrets included: never for a log.

        environ : the environment's variables. base : the manifest's folder. sink : the sink's name, for messages.

        Raises `SecretError`: a secret is missing.
        """
        at = f"the postgres sink {sink}"
        options: PostgresOptions = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "sslmode": ("verify-full" if self.check_hostname else "verify-ca") if self.use_tls else "prefer",
        }
        if self.password is not None:
            options["password"] = self.password.resolve(environ, base, f"{at}: password")
        if self.ca_file is not None:
            options["sslrootcert"] = str(base / self.ca_file)
        if self.cert_file is not None and self.key_file is not None:
            options["sslcert"], options["sslkey"] = str(base / self.cert_file), str(base / self.key_file)
        if self.key_password is not None:
            options["sslpassword"] = self.key_password.resolve(environ, base, f"{at}: keyPassword")
        return options
