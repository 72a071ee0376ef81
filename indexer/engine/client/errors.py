"""Errors of an engine, with advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from indexer.engine.client.access import Access
from indexer.errors import StoreError
from indexer.text.counts import counted

# The statuses of trouble that may pass: overload, a node that is starting or was lost, a gateway in front of it.
RETRIED = frozenset({429, 502, 503, 504})
LEADS_AWAY = "the server redirects (status {status}), and credentials don't follow; name the cluster's own address"
CLOSED = "index_closed_exception"


class UnreachableError(Exception):
    """No whole answer came: refused, reset, cut short or too late."""


class UnknownHostError(UnreachableError):
    """The host's name is unknown."""


class CertificateError(Exception):
    """TLS failed: a certificate was not accepted, or the secure connection broke off."""


def trouble(text: str, *, secure: bool) -> CertificateError | UnreachableError:
    return (CertificateError if secure else UnreachableError)(text[:300])


class AnswerError(StoreError):
    """The server answered with an error: its status, the engine's error type and its reason."""

    def __init__(self, status: int, kind: str, reason: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {kind}: {reason}")
        self.status, self.kind, self.reason, self.retry_after = status, kind, reason, retry_after

    @classmethod
    def from_body(
        cls, status: int, body: Any, retry_after: float | None = None, *, hidden: Callable[[str], str] = str
    ) -> AnswerError:
        error = body.get("error") if isinstance(body, Mapping) else None
        if isinstance(error, Mapping):
            return cls(status, *error_of(error, hidden), retry_after)
        return cls(status, "error", hidden(str(error or body))[:300], retry_after)


def error_of(error: Mapping[str, Any], hidden: Callable[[str], str] = str) -> tuple[str, str]:
    reasons = [str(error.get("reason", ""))]
    if error.get("type") == CLOSED:
        return CLOSED, f"{error.get('index', 'an index')} is closed; open it first"
    cause = error.get("caused_by") or next(iter(error.get("root_cause") or ()), None)
    if isinstance(cause, Mapping) and cause.get("reason") and str(cause["reason"]) not in reasons[0]:
        reasons.append(str(cause["reason"]))
    return str(error.get("type", "error")), hidden(": ".join(reasons))[:1000]


def retry_after(value: str | None) -> float | None:
    """Seconds from the header Retry-After; a date there is ignored."""
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def require_whole(answer: Mapping[str, Any], shown: str) -> None:
    """Raise StoreError if some shards did not answer: their documents would be missed silently."""
    shards = answer["_shards"]
    away = shards["total"] - shards["successful"]
    if away or answer.get("timed_out"):
        failures = shards.get("failures") or [{}]
        reason = failures[0].get("reason", {}).get("reason") or "no reason given"
        raise StoreError(f"{shown}: {away} of {shards['total']} shards did not answer: {reason}")


def given_up(shown: str, tries: int, trouble: str) -> StoreError:
    return StoreError(
        f"{shown}: given up after {counted(tries, 'try', 'tries')}: {trouble}; run the same command again when "
        "the cluster is well"
    )


def explain_answer(error: AnswerError, shown: str, access: Access) -> str:
    if error.status == 401:
        if not access.kind:
            return (
                f"{shown}: the engine asks for credentials (401); set NEARDUP_API_KEY, or NEARDUP_USERNAME "
                "and NEARDUP_PASSWORD, or write them to the credentials file"
            )
        return f"{shown}: the cluster does not accept the {access.kind} (401); check it, and that it is not expired"
    if 300 <= error.status < 400:
        return f"{shown}: {LEADS_AWAY.format(status=error.status)}"
    if error.kind == CLOSED:
        return f"{shown}: {error.reason}"
    if error.status == 403:
        who = access.kind or "anonymous user"
        return f"{shown}: the engine does not allow this to the {who} (403): {error.reason}"
    return f"{shown}: the cluster answered {error.status} {error.kind}: {error.reason}"


def is_broken_off(text: str) -> bool:
    return not re.search("certificate|mismatch|doesn't match|unknown ca", text, re.IGNORECASE)


def explain_certificate(text: str, shown: str) -> str:
    if "expired" in text:
        return f"{shown}: the server's certificate has expired; renew it (the clock of this machine counts too)"
    if "Hostname mismatch" in text or "doesn't match" in text or "IP address mismatch" in text:
        return f"{shown}: the server's certificate is for another name; use the host name in the certificate"
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return (
            f"{shown}: this machine does not trust the issuer of the server's certificate; "
            "name the cluster's own CA certificate in NEARDUP_CA_CERT"
        )
    if "alert" in text.lower() or "EOF occurred" in text or "reset by peer" in text:
        # Some servers say nothing and hang up.
        return (
            f"{shown}: the server breaks off the secure connection; it may want a client certificate: name one in "
            f"NEARDUP_CLIENT_CERT and NEARDUP_CLIENT_KEY"
        )
    return f"{shown}: no secure connection ({text[:300]}); does the server speak HTTPS on this port?"
