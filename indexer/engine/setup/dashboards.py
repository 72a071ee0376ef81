"""Install and remove dashboards over HTTP."""

from __future__ import annotations

import json
import re
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from indexer.engine.client.access import Access, load_access
from indexer.engine.client.plain_http import Response, ask, patiently
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.client.urls import is_host
from indexer.engine.index.bodies import INDEXED_AT
from indexer.engine.index.mapping import mappings_directory
from indexer.engine.setup.provision import SetupStep, object_line
from indexer.errors import StoreError, UsageError
from indexer.text.counts import counted
from indexer.text.hiding import shown_name

KIBANA, OPENSEARCH = "kibana", "opensearch-dashboards"
_PRODUCTS = {KIBANA: "Kibana", OPENSEARCH: "OpenSearch Dashboards"}
# The placeholders in the files, and the beginning of every object's id.
_INDEX, _TIME = "INDEX_NAME", "TIME_FIELD"
_ID = f"neardup-{_INDEX}-"
_URL = re.compile(r"https?://([^/?#@]+)(/[^?#@\s]*)?\Z", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[\w.+-]+\Z")
_PATTERN = re.compile(r"[\w.+*-]+\Z")


class Dashboards:
    """The dashboards of the index `name` in Kibana or OpenSearch Dashboards at `url`.

    `space` is a space of Kibana's or a tenant of OpenSearch Dashboards', `time` the field with the dates of documents.
    Credentials come from the store's settings. Raises UsageError for unusable settings, and StoreError if nothing
    answers, or something else.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        space: str = "",
        time: str = INDEXED_AT,
        access: Access | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.shown = shown_name(url)
        if "@" in url:
            raise UsageError(f"{self.shown}: a password in a URL can be seen by others; set NEARDUP_USERNAME and so on")
        parts = _URL.match(url)
        if not parts or not is_host(parts[1]):
            raise UsageError(f"{self.shown}: write https://host:5601, with the base path where there is one")
        if not _PATTERN.match(name):
            raise UsageError(f"{name}: dashboards are made for a name of letters, digits and . _ + - * only")
        if space and not _PLAIN_NAME.match(space):
            raise UsageError(f"{space}: is not a valid name of a space or tenant: letters, digits and . _ + - only")
        self.name, self.space, self._time = name, space, time
        self._url = url.rstrip("/")
        self._access = access or load_access(self._url, self.shown)
        self._retry = retry or RetryPolicy()
        if self._access.region:
            raise UsageError(f"{self.shown}: requests to dashboards are not signed for Amazon; import the file by hand")
        self.product = self._recognise()

    def objects(self) -> list[dict[str, Any]]:
        text = (mappings_directory() / "dashboards" / f"{self.product}.ndjson").read_text("utf-8")
        # Kibana wants ids that no other space has.
        spaced = f"neardup-{self.space}-{self.name}-" if self.space else f"neardup-{self.name}-"
        # It stands in JSON that is a text of JSON.
        field = json.dumps(json.dumps(self._time)[1:-1])[1:-1]
        text = text.replace(_ID, spaced).replace(_INDEX, self.name).replace(_TIME, field)
        return [json.loads(line) for line in text.splitlines()]

    def set_up(self) -> list[SetupStep]:
        why = f"put the dashboards of {self.name} into {_PRODUCTS[self.product]}"
        path = self._path("/api/saved_objects/_import?overwrite=true")
        return [SetupStep(why, "POST", path, objects=self.objects())]

    def removal(self) -> list[SetupStep]:
        steps = []
        for saved in reversed(self.objects()):
            kind, name = saved["type"], urllib.parse.quote(saved["id"], safe="")
            path = self._path(f"/api/saved_objects/{kind}/{name}")
            if self._ask("GET", path).status != 404:
                title = saved["attributes"]["title"]
                steps.append(SetupStep(f"take away the {kind} {title!r}", "DELETE", path))
        return steps

    def carry_out(self, steps: Sequence[SetupStep]) -> Iterator[str]:
        for step in steps:
            if not step.objects:
                self._ask(step.method, step.path)
                yield step.why
                continue
            boundary = uuid.uuid4().hex
            answer = self._ask(step.method, step.path, _form(step.objects, boundary), boundary)
            result = answer.json() or {}
            if not result.get("success"):
                raise StoreError(f"{self.shown}: {_refusal(result, len(step.objects))}")
            put = counted(result.get("successCount", len(step.objects)), "object")
            first = next(each["id"] for each in step.objects if each["type"] == "dashboard")
            yield f"{step.why}: {put}; open {self.shown}{self._path('/app/dashboards')}#/view/{first}"

    # Asking

    def _path(self, path: str) -> str:
        return f"/s/{self.space}{path}" if self.space and self.product == KIBANA else path

    def _recognise(self) -> str:
        answer = self._send_patiently("GET", "/api/status")
        status = answer.json()
        if "x-elastic-product" in answer.headers and "kbn-name" not in answer.headers:
            raise StoreError(f"{self.shown}: this is Elasticsearch itself; give the address of Kibana, often port 5601")
        if b"opensearch.org" in answer.body and "osd-name" not in answer.headers:
            raise StoreError(
                f"{self.shown}: this is OpenSearch itself; give the address of OpenSearch Dashboards, often port 5601"
            )
        product = OPENSEARCH if "osd-name" in answer.headers else KIBANA if "kbn-name" in answer.headers else ""
        if not product or answer.status == 404:
            raise StoreError(
                f"{self.shown}: neither Kibana nor OpenSearch Dashboards answers there (status {answer.status}); "
                "is the address right, with its base path?"
            )
        self.product = product
        self._check(answer)
        if not isinstance(status, dict) or "version" not in status:
            raise StoreError(f"{self.shown}: {_PRODUCTS[product]} does not say its version; is it still starting?")
        if self.space and product == KIBANA and self._ask("GET", f"/api/spaces/space/{self.space}").status == 404:
            raise UsageError(f"{self.shown}: Kibana has no space {self.space!r}")
        return product

    def _ask(self, method: str, path: str, body: bytes | None = None, boundary: str = "") -> Response:
        answer = self._send_patiently(method, path, body, boundary)
        self._check(answer)
        return answer

    def _check(self, answer: Response) -> None:
        product, who = _PRODUCTS[self.product], self._access.kind
        if answer.status == 401 or answer.leads_away:
            if not who:
                raise StoreError(
                    f"{self.shown}: {product} asks for credentials ({answer.status}); set NEARDUP_API_KEY, or "
                    "NEARDUP_USERNAME and NEARDUP_PASSWORD, or write them to the credentials file"
                )
            raise StoreError(f"{self.shown}: {product} does not accept the {who} ({answer.status}); check it")
        if answer.status == 403:
            raise StoreError(f"{self.shown}: {product} does not allow this to the {who or 'anonymous user'} (403)")
        if answer.status >= 400 and answer.status != 404:
            status = answer.json()
            why = self._access.hidden(str(status.get("message", ""))) if isinstance(status, dict) else ""
            raise StoreError(f"{self.shown}: {product} answered {answer.status}: {why[:500]}")

    def _send_patiently(self, method: str, path: str, body: bytes | None = None, boundary: str = "") -> Response:
        return patiently(lambda _: self._send(method, path, body, boundary), self.shown, self._retry, lambda _: False)

    def _send(self, method: str, path: str, body: bytes | None, boundary: str) -> Response:
        headers = {"kbn-xsrf": "true", "osd-xsrf": "true"}
        if self.space:
            headers["securitytenant"] = self.space
        if boundary:
            headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
        return ask(self._url + path, self._access, self._retry.timeout, method=method, body=body, headers=headers)


def _form(objects: Sequence[Mapping[str, Any]], boundary: str) -> bytes:
    """A file of the objects, one a line, as a form sends it (RFC 7578)."""
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="neardup.ndjson"\r\n'
        "Content-Type: application/ndjson\r\n\r\n"
    )
    return f"{head}{''.join(object_line(saved) + chr(10) for saved in objects)}\r\n--{boundary}--\r\n".encode()


def _refusal(result: Mapping[str, Any], count: int) -> str:
    errors = result.get("errors") or [{}]
    first = errors[0].get("error", {})
    kind = first.get("type", "")
    missing = ", ".join(str(reference.get("id")) for reference in first.get("references", ())[:3])
    why = f"refers to {missing}, which is not there" if missing else first.get("message") or kind or "no reason given"
    return f"refused {len(errors)} of {counted(count, 'object')}; {errors[0].get('type')} {errors[0].get('id')}: {why}"
