"""The way to a cluster: its URL, which engine answers there, requests that are tried again, errors as sentences."""

from __future__ import annotations

import random
import re
import threading
import time
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from indexer.engine.client.access import Access, load_access
from indexer.engine.client.plain_http import Answer, CertificateError, UnknownHostError, UnreachableError, ask
from indexer.errors import StoreError, UsageError
from indexer.text.counts import counted
from indexer.text.hiding import PLACE, shown_name
from indexer.text.remarks import remark

JSON = "application/json"
NDJSON = "application/x-ndjson"
_ENGINES = ("elasticsearch", "opensearch")
_URL = re.compile(r"(?:(elasticsearch|opensearch)\+)?(https?)://([^/?#]*)(/[^?#]*)?\Z", re.IGNORECASE)
# The statuses of trouble that may pass: overload, a node that is starting or was lost, a gateway in front of it.
RETRIED = frozenset({429, 502, 503, 504})
_LEADS_AWAY = (
    "the server sends elsewhere (status {status}), where no credentials are sent after it; name the address where the "
    "cluster itself answers"
)
_CLOSED = "index_closed_exception"
# Seconds for a request that nothing depends on.
_BRIEFLY = 10.0
# Seconds to wait for a server to listen at a URL that has not answered yet.
FIRST_CONTACT = 8.0
# Seconds of waiting before a remark is made, and those between two remarks about one engine, however many requests to
# it wait at once.
SILENT = 2.0
BETWEEN = 30.0

_guard = threading.Lock()
_said_at: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class Target:
    """The hosts, as "https://host:port/prefix", and the index, alias, data stream or pattern that a store's URL names.

    `engine` is empty where the URL leaves it to the server's answers; `shown` is the URL without a credential.
    """

    engine: str
    hosts: tuple[str, ...]
    name: str
    shown: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits: `timeout` seconds for one request, `limit` seconds in all, waits from `first` to `longest`."""

    timeout: float = 60.0
    limit: float = 180.0
    first: float = 0.25
    longest: float = 15.0

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait before another attempt: doubling, jittered by half, at least what the server asked for."""
        doubled = min(self.longest, self.first * 2.0 ** min(attempt, 16))
        return max(doubled * random.uniform(0.5, 1.0), min(asked or 0.0, self.limit))  # noqa: S311 no secret


class Waiting:
    """The pauses between the tries of one request; after SILENT seconds of them the user is told the reason.

    `shown` names the engine, `pause` waits for this many seconds. Remarks go to standard error.
    """

    def __init__(self, shown: str, pause: Callable[[float], None]) -> None:
        self._shown, self._pause = shown, pause
        self._start = time.monotonic()

    def __call__(self, seconds: float, why: str) -> None:
        """Wait before the next try, because of this."""
        before = self._start + SILENT - time.monotonic()
        if 0 < before < seconds:
            self._pause(before)
            seconds -= before
            before = 0
        if before <= 0:
            self._tell(why)
        self._pause(seconds)

    def _tell(self, why: str) -> None:
        with _guard:
            now = time.monotonic()
            if now - _said_at.get(self._shown, -BETWEEN) < BETWEEN:
                return
            _said_at[self._shown] = now
        remark(f"{self._shown}: {why}; trying again", level="warning")


class AnswerError(StoreError):
    """The server answered with an error: its status, the engine's error type and its reason."""

    def __init__(self, status: int, kind: str, reason: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {kind}: {reason}")
        self.status, self.kind, self.reason, self.retry_after = status, kind, reason, retry_after

    @classmethod
    def from_body(
        cls, status: int, body: Any, retry_after: float | None = None, *, hidden: Callable[[str], str] = str
    ) -> AnswerError:
        """From an answer's body, which is the engines' JSON, or something of a proxy between.

        `hidden` takes secrets out of it: some servers send back what they were sent.
        """
        error = body.get("error") if isinstance(body, Mapping) else None
        if isinstance(error, Mapping):
            return cls(status, *error_of(error, hidden), retry_after)
        return cls(status, "error", hidden(str(error or body))[:300], retry_after)


def error_of(error: Mapping[str, Any], hidden: Callable[[str], str] = str) -> tuple[str, str]:
    """The type and the reason of an engine's error object, with the cause that says most."""
    reasons = [str(error.get("reason", ""))]
    if error.get("type") == _CLOSED:
        return _CLOSED, f"{error.get('index', 'an index')} is closed; open it first"
    cause = error.get("caused_by") or next(iter(error.get("root_cause") or ()), None)
    if isinstance(cause, Mapping) and cause.get("reason") and str(cause["reason"]) not in reasons[0]:
        reasons.append(str(cause["reason"]))
    return str(error.get("type", "error")), hidden(": ".join(reasons))[:1000]


def retry_after(value: str | None) -> float | None:
    """Seconds from the header Retry-After; a date there is taken as no wish."""
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def parse_url(url: str) -> Target:
    """Read `[elasticsearch+|opensearch+]http[s]://host[:port][,host[:port]...][/prefix]/INDEX`.

    Raises UsageError, which never repeats a credential.
    """
    shown = shown_name(url)
    if re.search(r"[\x00-\x20\x7f-\x9f]", url):
        raise UsageError(f"{shown}: holds a space or a control character; write it as %20 and so on")
    if re.search(r"[/?#].*@", url.partition("://")[2]):
        raise UsageError(
            f"{shown}: holds an @ behind a / ? or #; in a password write these as %2F %3F %23, and @ as %40"
        )
    matched = _URL.match(url)
    if not matched:
        raise UsageError(f"{shown}: write https://host:9200/INDEX, several hosts with commas between")
    engine, scheme, authority, path = matched.groups(default="")
    userinfo, _, places = authority.rpartition("@")
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    name = parts.pop()
    if not name or not all(map(is_host, places.split(","))):
        raise UsageError(f"{shown}: name a host and an index, as in https://host:9200/INDEX")
    _check_name(name, shown)
    prefix = "/" + "/".join(parts) if parts else ""
    port = ":443" if scheme.lower() == "https" else ":80"
    hosts = tuple(
        f"{scheme.lower()}://{place}{'' if re.search(r':[0-9]+$', place) else port}{prefix}"
        for place in places.split(",")
    )
    user, _, password = userinfo.partition(":")
    return Target(engine.lower(), hosts, name, shown, urllib.parse.unquote(user), urllib.parse.unquote(password))


def is_host(place: str) -> bool:
    """True if this is a host as URLs have it, with or without a port."""
    matched = PLACE.match(place)
    try:
        urllib.parse.urlsplit(f"//{place}")
    except ValueError:
        return False
    return bool(matched and int(matched[1] or 0) < 1 << 16)


def _check_name(name: str, shown: str) -> None:
    if name != name.lower() or re.search(r'[\\/"<>| #:]', name) or name[0] in "_-+":
        raise UsageError(f'{shown}: {name!r} is not a valid index name: use lower case, no spaces or \\ / " < > | # :')


class Client(ABC):
    """One engine's official client; `request` is all that the store needs of it."""

    engine: str
    product: str

    def __init__(self, target: Target, access: Access, patience: Patience) -> None:
        self.target, self.access, self.patience = target, access, patience
        self._answered = False
        self._closed = threading.Event()

    @abstractmethod
    def perform(
        self, method: str, path: str, params: Mapping[str, str], body: object, content_type: str, timeout: float
    ) -> Any:
        """One request, tried once: the answer's JSON.

        Raises AnswerError, UnreachableError and CertificateError.
        """

    @abstractmethod
    def open_snapshot(self, name: str, keep_alive: str) -> str:
        """Open a point in time over an index, alias or pattern; its id."""

    @abstractmethod
    def _closing(self, snapshot: str) -> tuple[str, object]:
        """Path and body of the request that closes a point in time."""

    def close(self) -> None:
        """Let go of the connections; a request that waits to be tried again, in whatever thread, fails at once."""
        self._closed.set()

    def pause(self, seconds: float) -> None:
        """Wait before a request is tried again; StoreError where the client is closed, or is closed meanwhile."""
        if self._closed.wait(seconds):
            raise StoreError(f"{self.target.shown}: the connection is closed")

    def waiting(self) -> Waiting:
        """The pauses between the tries of a request that begins now."""
        return Waiting(self.target.shown, self.pause)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        deadline: float | None = None,
        on_try: Callable[[], None] | None = None,
        **params: str,
    ) -> Any:
        """One request, tried again while the trouble may pass; StoreError for trouble that stays.

        An answer that is about the request itself is an AnswerError of status 400, 404, 405 or 409, for the caller.
        """
        start = time.monotonic()
        deadline = deadline or start + self.patience.limit
        waiting = self.waiting()
        attempt = 0
        while True:
            self.pause(0)
            if on_try:
                on_try()
            try:
                answer = self.perform(method, path, params, body, content_type, self.patience.timeout)
                self._answered = True
                return answer
            except (AnswerError, UnreachableError, CertificateError) as error:
                self._answered |= isinstance(error, AnswerError)
                asked = self._passing(error)
                wait = self.patience.wait(attempt, asked)
                if time.monotonic() + wait > (deadline if self._answered else min(deadline, start + FIRST_CONTACT)):
                    wish = f"; it asks to wait for {asked:.0f} seconds" if asked else ""
                    raise given_up(self.target, attempt + 1, f"{error}{wish}") from error
                trouble = _trouble(error)
            except StoreError:
                raise
            except Exception as error:
                # A library's message about a value that it can't send holds the value.
                kind = type(error).__name__
                raise StoreError(
                    f"{self.target.shown}: {self.product}'s client can't send a request ({kind})"
                ) from None
            waiting(wait, trouble)
            attempt += 1

    def perform_once(self, method: str, path: str, body: object = None) -> Any:
        """One request, tried once and not for long, that no command waits for; see perform()."""
        return self.perform(method, path, {}, body, JSON, min(self.patience.timeout, _BRIEFLY))

    def search(self, name: str, body: Mapping[str, Any], **params: Any) -> Any:
        """The answer to a search in an index, alias or pattern, or at the point in time that the body names.

        All shards have to answer: some engines leave out those that are away without a word. StoreError as request().
        """
        path = f"/{name}/_search" if name else "/_search"
        answer = self.request("POST", path, body, allow_partial_search_results="false", **params)
        require_whole(answer, self.target.shown)
        return answer

    def count(self, name: str, query: Mapping[str, Any]) -> int:
        """The number of documents that match; StoreError if some shards do not answer."""
        answer = self.request("POST", f"/{name}/_count", {"query": query})
        require_whole(answer, self.target.shown)
        return int(answer["count"])

    def close_snapshot(self, snapshot: str) -> None:
        """Let go of a point in time; where that fails it runs out by itself, and nothing else fails with it."""
        with suppress(Exception):
            self.perform_once("DELETE", *self._closing(snapshot))

    def _passing(self, error: AnswerError | UnreachableError | CertificateError) -> float | None:
        """The wait that the server asked for, for trouble that may pass; raise where it won't."""
        if isinstance(error, CertificateError) and not (self._answered and is_broken_off(str(error))):
            raise StoreError(explain_certificate(str(error), self.target)) from error
        if not isinstance(error, AnswerError):
            return None
        if error.status in RETRIED:
            return error.retry_after
        if error.status in (400, 404, 405, 409) and error.kind != _CLOSED:
            raise error
        raise StoreError(explain_answer(error, self.target, self.access)) from error


def given_up(target: Target, tries: int, trouble: str) -> StoreError:
    """The error for trouble that did not pass in time."""
    return StoreError(
        f"{target.shown}: given up after {counted(tries, 'try', 'tries')}: {trouble}; run the same command again when "
        "the cluster is well"
    )


def _trouble(error: Exception) -> str:
    return f"the cluster answers {error}" if isinstance(error, AnswerError) else f"no answer ({error})"


def require_whole(answer: Mapping[str, Any], shown: str) -> None:
    """Raise StoreError where some shards did not answer: what they hold would be missed in silence."""
    shards = answer["_shards"]
    away = shards["total"] - shards["successful"]
    if away or answer.get("timed_out"):
        failures = shards.get("failures") or [{}]
        reason = failures[0].get("reason", {}).get("reason") or "no reason given"
        raise StoreError(f"{shown}: {away} of {shards['total']} shards did not answer: {reason}")


def explain_answer(error: AnswerError, target: Target, access: Access) -> str:
    """One sentence for an answer that refuses the user and not the request."""
    if error.status == 401:
        if not access.kind:
            return (
                f"{target.shown}: the engine asks for credentials (401); set NEARDUP_API_KEY, or NEARDUP_USERNAME "
                "and NEARDUP_PASSWORD, or write them to the credentials file"
            )
        return (
            f"{target.shown}: the cluster does not accept the {access.kind} (401); check it, and that it is not expired"
        )
    if 300 <= error.status < 400:
        return f"{target.shown}: {_LEADS_AWAY.format(status=error.status)}"
    if error.kind == _CLOSED:
        return f"{target.shown}: {error.reason}"
    if error.status == 403:
        who = access.kind or "anonymous user"
        return f"{target.shown}: the engine does not allow this to the {who} (403): {error.reason}"
    return f"{target.shown}: the cluster answered {error.status} {error.kind}: {error.reason}"


def is_broken_off(text: str) -> bool:
    """True if the library's words tell of a broken secure connection, which may pass, not of a refused certificate."""
    return not re.search("certificate|mismatch|doesn't match|unknown ca", text, re.IGNORECASE)


def explain_certificate(text: str, target: Target) -> str:
    """One sentence for a connection that failed over a certificate."""
    if "expired" in text:
        return f"{target.shown}: the server's certificate has expired; renew it (the clock of this machine counts too)"
    if "Hostname mismatch" in text or "doesn't match" in text or "IP address mismatch" in text:
        return f"{target.shown}: the server's certificate is for another name; use the host name that it was made for"
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return (
            f"{target.shown}: the server's certificate is signed by nobody whom this machine trusts; "
            "name the cluster's own CA certificate in NEARDUP_CA_CERT"
        )
    if "alert" in text.lower() or "EOF occurred" in text or "reset by peer" in text:
        # Some servers say nothing and hang up.
        return (
            f"{target.shown}: the server breaks off the secure connection, as one does that wants a certificate of the "
            "client; name one that it knows in NEARDUP_CLIENT_CERT and NEARDUP_CLIENT_KEY"
        )
    return f"{target.shown}: no secure connection ({text[:300]}); does the server speak HTTPS on this port?"


def connect(url: str, *, patience: Patience | None = None, access: Access | None = None) -> Client:
    """Open a cluster's URL with the official client of the engine that answers there."""
    target = parse_url(url)
    access = access or load_access(target.hosts[0], target.shown, target.user, target.password)
    patience = patience or Patience()
    # Requests to Amazon's service are signed by OpenSearch's client; it would not answer an unsigned question.
    engine = target.engine or ("opensearch" if access.region else _recognise(target, access, patience))
    if engine == "elasticsearch":
        from indexer.engine.client.elasticsearch import ElasticsearchClient

        return ElasticsearchClient(target, access, patience)
    from indexer.engine.client.opensearch import OpenSearchClient

    return OpenSearchClient(target, access, patience)


def _recognise(target: Target, access: Access, patience: Patience) -> str:
    """The engine that answers, known by its answer to `GET /`, tried as long as the cluster may be starting.

    A host that does not listen, or whose name is unknown, is more likely a wrong URL: it is given up sooner.
    """
    start = time.monotonic()
    waiting = Waiting(target.shown, time.sleep)
    attempt = 0
    while True:
        host = target.hosts[attempt % len(target.hosts)]
        try:
            answer = ask(host + "/", access, patience.timeout)
        except CertificateError as error:
            raise StoreError(explain_certificate(str(error), target)) from error
        except UnreachableError as error:
            if isinstance(error, UnknownHostError) and len(target.hosts) == 1:
                raise StoreError(f"{target.shown}: unknown host name ({error})") from error
            trouble, limit = str(error), min(patience.limit, FIRST_CONTACT)
        else:
            if engine := _engine_of(answer):
                return engine
            if answer.status == 401:
                raise StoreError(explain_answer(AnswerError(401, "", ""), target, access))
            if answer.leads_away:
                named = f" {answer.where}".rstrip()
                raise StoreError(f"{target.shown}: {_LEADS_AWAY.format(status=f'{answer.status}{named}')}")
            if answer.status not in RETRIED:
                raise StoreError(
                    f"{target.shown}: neither Elasticsearch nor OpenSearch answers there (status {answer.status}); if "
                    "one does behind a proxy, say which: elasticsearch+https://... or opensearch+https://..."
                )
            trouble, limit = f"status {answer.status}", patience.limit
        wait = patience.wait(attempt, None)
        if time.monotonic() + wait > start + limit:
            raise StoreError(f"{target.shown}: no answer after {attempt + 1} tries: {trouble}; is the URL right?")
        waiting(wait, f"no answer that can be used ({trouble})")
        attempt += 1


def _engine_of(answer: Answer) -> str:
    """The engine that gave this answer; empty if the answer does not say."""
    if "elasticsearch" in answer.headers.get("x-elastic-product", "").lower():
        return "elasticsearch"
    if b"opensearch" in answer.body.lower() or "opensearch" in answer.headers.get("www-authenticate", "").lower():
        return "opensearch"
    # OpenSearch's security plugin, to a user who may not ask for the version.
    return "opensearch" if b"no permissions for [cluster:monitor/main]" in answer.body else ""
