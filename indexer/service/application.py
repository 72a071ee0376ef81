"""The service as an ASGI application: it reads requests, lets threads answer them, and limits how many and how long."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from indexer.errors import ExtractionError, IncompatibleStoreError, NeardupError, NotFoundError, StoreError, UsageError
from indexer.library.collection import Collection
from indexer.model.declared import as_json
from indexer.model.release import VERSION
from indexer.service.described import openapi
from indexer.service.forms import read_form
from indexer.service.guards import Guard, TooLargeError, refused, too_large
from indexer.service.verbs import VERBS, Verb

# The status of an answer by the kind of error; the first that fits.
_STATUS: tuple[tuple[type[NeardupError], int], ...] = (
    (IncompatibleStoreError, 409),
    (StoreError, 503),
    (UsageError, 400),
    (NotFoundError, 404),
    (ExtractionError, 422),
)
_SECONDS_LATER = "1"


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """The limits of a service: threads that answer, requests that wait for one, seconds and bytes of a request."""

    threads: int = 4
    waiting: int = 64
    seconds: float = 30.0
    request_bytes: int = 16_000_000


class Answerers:
    """Threads that answer requests, each by a collection of its own; after an error of the store it is opened anew."""

    def __init__(self, opened: Callable[[], Collection], limits: ServiceLimits) -> None:
        self._opened, self._limits = opened, limits
        self._local = threading.local()
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="answer")
        self._under_way = 0

    async def answer(self, verb: Verb, body: bytes, *, is_file: bool) -> Response:
        """The answer to the body of a request; 503 where too many wait, 504 where it takes too long."""
        if self._under_way >= self._limits.threads + self._limits.waiting:
            return refused(503, "too many requests wait; try again later", {"Retry-After": _SECONDS_LATER})
        self._under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._answered, verb, body, is_file)
        # One that took too long still has its thread, and counts until that is done.
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._limits.seconds)
        except TimeoutError:
            return refused(504, f"the answer took more than {self._limits.seconds:g} seconds; ask about less")

    def close(self) -> None:
        """Wait for no request that has no thread yet, and for no thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: asyncio.Future[Response]) -> None:
        self._under_way -= 1
        if not future.cancelled():
            future.exception()

    def _answered(self, verb: Verb, body: bytes, is_file: bool) -> Response:
        try:
            made = self._made(verb, body, is_file)
        except NeardupError as error:
            if isinstance(error, StoreError):
                self._forget()
            return refused(next((status for kind, status in _STATUS if isinstance(error, kind)), 500), str(error))
        # ensure_ascii: what is half a character elsewhere is still JSON.
        return Response(json.dumps(as_json(made), allow_nan=False).encode("ascii"), media_type="application/json")

    def _made(self, verb: Verb, body: bytes, is_file: bool) -> Any:
        if is_file and verb.answer_file is not None:
            return verb.answer_file(self._collection(), body)
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the request: is no JSON: {error}"[:200]) from None
        return verb.answer_request(self._collection(), read_form(verb.request, given))

    def _collection(self) -> Collection:
        if not hasattr(self._local, "collection"):
            self._local.collection = self._opened()
        collection: Collection = self._local.collection
        return collection

    def _forget(self) -> None:
        if hasattr(self._local, "collection"):
            self._local.collection.close()
            del self._local.collection


def service_application(
    opened: Callable[[], Collection], limits: ServiceLimits, *, hosts: frozenset[str], token: str = ""
) -> Starlette:
    """The application: a POST for each verb, and GET for /healthz, /openapi.json and / (which names the verbs).

    `opened` opens the collection, once for each thread. `hosts` are the names that the service may be called by.
    """
    answerers = Answerers(opened, limits)

    async def verb_answer(request: Request) -> Response:
        verb = VERBS[request.url.path.strip("/")]
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        is_file = kind != "application/json"
        if is_file and verb.answer_file is None:
            return refused(415, "send JSON, with the header Content-Type: application/json")
        try:
            body = await request.body()
        except TooLargeError:
            return refused(413, too_large(limits.request_bytes))
        except ClientDisconnect:
            return Response(status_code=400)
        return await answerers.answer(verb, body, is_file=is_file)

    async def named(_: Request) -> Response:
        return JSONResponse({"neardup": VERSION, "verbs": [*VERBS], "openapi": "/openapi.json"})

    async def healthy(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def described(_: Request) -> Response:
        return JSONResponse(openapi(VERBS, VERSION, token=bool(token)))

    async def failed(_: Request, __: Exception) -> Response:
        return refused(500, "an error of the service; its log says more")

    async def unknown(request: Request, error: Exception) -> Response:
        return refused(getattr(error, "status_code", 404), f"{request.method} {request.url.path}: see /openapi.json")

    return Starlette(
        routes=[
            *(Route(f"/{name}", verb_answer, methods=["POST"]) for name in VERBS),
            Route("/", named),
            Route("/healthz", healthy),
            Route("/openapi.json", described),
        ],
        middleware=[Middleware(Guard, hosts=hosts, token=token, most_bytes=limits.request_bytes)],
        exception_handlers={404: unknown, 405: unknown, 500: failed},
    )
