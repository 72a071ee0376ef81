"""The OpenAPI document of the service."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from indexer.library.bulk_requests import FingerprintedRequest
from indexer.model.declared import description
from indexer.service.forms import LINES, LINES_TYPE, ErrorAnswer, LinesRequest, answer_schema, request_schema
from indexer.service.verbs import Verb, fingerprint_lines

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
    taken: dict[str, Any] = {"application/json": {"schema": request_schema(verb.request)}}
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
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    content = {"application/json": {"schema": answer_schema(answer)}, **more}
    return {
        "200": {"description": description(answer), "content": content},
        **{status: {"description": meaning, "content": error} for status, meaning in _ERRORS.items()},
    }
