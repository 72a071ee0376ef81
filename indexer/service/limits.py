"""The address and the limits of a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from indexer.errors import UsageError
from indexer.library.tokens import is_loopback
from indexer.model.declared import Option

TOKEN_VARIABLE = "NEARDUP_SERVE_TOKEN"  # noqa: S105 - the name of a variable
_SHORTEST_TOKEN = 16
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """The limits of a service."""

    threads: Annotated[int, Option("How many requests to answer at once.", least=1, most=256)] = 4
    waiting: Annotated[int, Option("How many requests may wait for a thread. More are answered with 503.", least=0,
        most=100_000)] = 64  # fmt: skip
    timeout: Annotated[float, Option("Time limit for each request.", kind="seconds")] = 30.0
    max_request: Annotated[int, Option("The largest request.", kind="size")] = 16_000_000


@dataclass(frozen=True, slots=True)
class Listening:
    """The address of a service, with TLS if there are a certificate and its key.

    On an address within reach of other machines it demands a token and TLS, unless `trust_network` is true.
    """

    host: Annotated[str, Option("The address to listen on. Any other than this machine's own needs a token and TLS.",
        metavar="ADDRESS")] = "127.0.0.1"  # fmt: skip
    port: Annotated[int, Option("The port (0: any free one).", least=0, most=65535)] = 8600
    allow_host: Annotated[tuple[str, ...], Option("A further name for the service in requests.", metavar="NAME")] = ()
    token_file: Annotated[str | None, Option("A file with the bearer token for all requests.", kind="path",
        metavar="FILE")] = None  # fmt: skip
    tls_certificate: Annotated[str | None, Option("The certificate, for HTTPS.", kind="path",
        metavar="FILE")] = None  # fmt: skip
    tls_key: Annotated[str | None, Option("The private key of the certificate.", kind="path",
        metavar="FILE")] = None  # fmt: skip
    trust_network: Annotated[bool, Option("Listen on another address without a token or TLS. Everybody who reaches it "
        "can ask about the stored documents.")] = False  # fmt: skip

    @property
    def names(self) -> frozenset[str]:
        own = LOCAL_NAMES if is_loopback(self.host) else {self.host}
        return frozenset(name.lower().strip("[]") for name in (*own, *self.allow_host))

    def require_safe(self, token: str) -> None:
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise UsageError("--tls-certificate and --tls-key go together")
        if token and len(token) < _SHORTEST_TOKEN:
            raise UsageError(f"the token is too short: take {_SHORTEST_TOKEN} characters or more")
        if is_loopback(self.host) or self.trust_network:
            return
        if not token:
            raise UsageError(
                f"{self.host}: other machines reach this address: give --token-file, or set {TOKEN_VARIABLE} "
                "(--trust-network goes without)"
            )
        if not self.tls_certificate:
            raise UsageError(
                f"{self.host}: other machines reach this address: give --tls-certificate and --tls-key "
                "(--trust-network goes without)"
            )
