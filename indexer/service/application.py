"""The service as an ASGI application: its requests, and its refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from indexer.library.collection import Collection
from indexer.model.release import VERSION
from indexer.service.answering import Answerers, as_bytes
from indexer.service.described import openapi
from indexer.service.forms import LINES, LINES_TYPE, LinesRequest, read_form, read_json, read_query
from indexer.service.guards import Guard, RefusedError, refused
from indexer.service.limits import ServiceLimits
from indexer.service.verbs import VERBS, Verb, fingerprint_lines

_JSON = "application/json"


def service_application(
    opened: Callable[[], Collection],
    limits: ServiceLimits,
    *,
    hosts: frozenset[str],
    token: str = "",
    with_tools: bool = False,
) -> Starlette:
    """The application: a POST for each verb and for bulk requests, and GET for /healthz, /openapi.json and a list.

    `opened` opens the collection, once for each thread.
    """
    answerers = Answerers(opened, limits)

    async def verb_answer(request: Request) -> Response:
        verb = VERBS[request.scope["path"].strip("/")]
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        is_file = kind != "application/json"
        if is_file and verb.answer_file is None:
            return refused(415, "send JSON, with the header Content-Type: application/json")
        body = await request.body()
        made = await answerers.answer(lambda collection: as_bytes(_asked(collection, verb, body, is_file=is_file)))
        return Response(made, media_type=_JSON)

    async def lines(request: Request) -> Response:
        body, query = await request.body(), request.query_params.multi_items()
        made = await answerers.answer(
            lambda collection: fingerprint_lines(collection, read_query(LinesRequest, query), body)
        )
        if _JSON in request.headers.get("accept", ""):
            return Response(as_bytes(made), media_type=_JSON)
        counts = f"fingerprinted={made.fingerprinted}, passed={made.passed}, skipped={len(made.skipped)}"
        headers = {"Neardup-Counts": f"{counts}, outdated={made.outdated}, unread={len(made.unread)}"}
        return Response(made.lines.encode("utf-8", "surrogateescape"), headers=headers, media_type=LINES_TYPE)

    async def named(_: Request) -> Response:
        return JSONResponse({"neardup": VERSION, "verbs": [*VERBS, LINES], "openapi": "/openapi.json"})

    async def healthy(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def described(_: Request) -> Response:
        return JSONResponse(openapi(VERBS, VERSION, token=bool(token)))

    routes = [
        *(Route(f"/{name}", verb_answer, methods=["POST"]) for name in VERBS),
        Route(f"/{LINES}", lines, methods=["POST"]),
        Route("/", named),
        Route("/healthz", healthy),
        Route("/openapi.json", described),
    ]
    manager = _tools(answerers, limits) if with_tools else None
    if manager:
        routes.append(Route("/mcp", manager.asgi_app))

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        if manager is None:
            yield
            return
        async with manager.run():
            yield

    made = Starlette(
        routes=routes,
        lifespan=alive,
        middleware=[Middleware(Guard, hosts=hosts, token=token, most_bytes=limits.max_request)],
        exception_handlers={
            RefusedError: _refused, ClientDisconnect: _left, 404: _unknown, 405: _unknown, 500: _failed
        },
    )  # fmt: skip
    # A path with a slash more is another one, and an answer that sends elsewhere has no form here.
    made.router.redirect_slashes = False
    return made


def _asked(collection: Collection, verb: Verb, body: bytes, *, is_file: bool) -> Any:
    if is_file and verb.answer_file is not None:
        return verb.answer_file(collection, body)
    return verb.answer_request(collection, read_form(verb.request, read_json(body)))


def _tools(answerers: Answerers, limits: ServiceLimits) -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from indexer.service.tools import tools_server

    # Names, origins and the token are the guard's.
    return StreamableHTTPSessionManager(
        tools_server(answerers), json_response=True, stateless=True, max_request_body_size=limits.max_request
    )


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)  # noqa: S101 it is registered for these
    return refused(error.status, str(error), error.headers)


async def _left(_: Request, __: Exception) -> Response:
    return Response(status_code=400)


async def _failed(_: Request, __: Exception) -> Response:
    return refused(500, "an error of the service; its log says more")


async def _unknown(request: Request, error: Exception) -> Response:
    asked = f"{request.method} {request.scope['path']}"[:200]
    return refused(getattr(error, "status_code", 404), f"{asked}: see /openapi.json")
