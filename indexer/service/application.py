"""The service as an ASGI application: its requests, and its refusals."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from indexer.library.bulk_requests import FingerprintedRequest
from indexer.library.collection import Collection
from indexer.model.declared import description
from indexer.model.release import VERSION
from indexer.service.answering import Answerers, as_bytes
from indexer.service.guards import Guard, RefusedError, refused
from indexer.service.limits import ServiceLimits
from indexer.service.schemas import (
    LINES,
    LINES_TYPE,
    ErrorAnswer,
    LinesRequest,
    answer_schema,
    read_form,
    read_json,
    read_query,
    request_schema,
)
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
        kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
        is_file = kind != _JSON
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
        as_text = f", html_as_text={sum(made.html_as_text.values())}" if made.html_as_text else ""
        headers = {"Neardup-Counts": f"{counts}, outdated={made.outdated}, unread={len(made.unread)}{as_text}"}
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


_ERRORS = {
    "400": "The request can't be used as it is, or is no HTTP/1.1",
    "401": "The request lacks the token",
    "403": "The request comes from a web page of another origin",
    "404": "No document with that id is stored",
    "405": "The path takes another method",
    "408": "The request took too long to come",
    "409": "The store has no sketches that can be compared as asked",
    "413": "The request is too large",
    "415": "The verb takes JSON only",
    "421": "The request names the service by another name",
    "422": "The file gave no text",
    "500": "The service failed",
    "503": "The store can't be read, or too many requests wait",
    "504": "The answer took too long",
}


def openapi(verbs: Mapping[str, Verb], version: str, *, token: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "neardup", "version": version, "description": "Questions about near-duplicates."},
        "paths": {
            **{f"/{name}": {"post": _operation(name, verb)} for name, verb in verbs.items()},
            f"/{LINES}": {"post": _of_lines()},
        },
        "components": {"schemas": {"Error": answer_schema(ErrorAnswer)}},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _operation(name: str, verb: Verb) -> dict[str, Any]:
    taken: dict[str, Any] = {_JSON: {"schema": request_schema(verb.request)}}
    if verb.answer_file is not None:
        taken["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    return {
        "operationId": name,
        "summary": inspect.cleandoc(verb.answer_request.__doc__ or ""),
        "description": description(verb.request),
        "requestBody": {"required": True, "content": taken},
        "responses": _responses(verb.answer, {}),
    }


def _of_lines() -> dict[str, Any]:
    schema = request_schema(LinesRequest)
    asked = [{"name": name, "in": "query", "schema": member} for name, member in schema["properties"].items()]
    lines = {LINES_TYPE: {"schema": {"type": "string"}}}
    return {
        "operationId": "fingerprint_lines",
        "summary": inspect.cleandoc(fingerprint_lines.__doc__ or ""),
        "description": description(LinesRequest),
        "parameters": asked,
        "requestBody": {"required": True, "content": lines},
        "responses": _responses(FingerprintedRequest, lines),
    }


def _responses(answer: type, more: Mapping[str, Any]) -> dict[str, Any]:
    error = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    content = {_JSON: {"schema": answer_schema(answer)}, **more}
    return {
        "200": {"description": description(answer), "content": content},
        **{status: {"description": meaning, "content": error} for status, meaning in _ERRORS.items()},
    }
