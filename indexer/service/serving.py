"""The service as a process: its address, and its clients."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from indexer.errors import MachineError, UsageError
from indexer.library.collection import Collection
from indexer.library.collection import open as open_collection
from indexer.library.opening import Tell
from indexer.library.tokens import read_token
from indexer.service.limits import TOKEN_VARIABLE, Listening, ServiceLimits

_LARGEST_HEAD = 16_384
_BACKLOG = 2048
_OF_TOOLS = "the Model Context Protocol takes the package mcp"


def serve(
    store: str | os.PathLike[str],
    listening: Listening,
    limits: ServiceLimits,
    *,
    mcp: bool = False,
    tell: Tell,
    told: Callable[[str], None] | None = None,
) -> None:
    """Answer questions about a store over HTTP until SIGINT or SIGTERM; `told` is called with the URL when it listens.

    Raises UsageError, StoreError, and MachineError if it can't listen or packages of the extra are missing.
    """
    token = read_token(listening.token_file, "--token-file", TOKEN_VARIABLE)
    listening.require_safe(token)
    with _needed("the service takes starlette and uvicorn", "serve"):
        import uvicorn

        from indexer.service.application import service_application
        from indexer.service.connections import BoundedConnection, Listener, Seldom, most_connections
    if mcp:
        with _needed(_OF_TOOLS, "mcp"):
            import indexer.service.tools  # noqa: F401

    # A store that can't be opened is said now, not at the first question.
    with open_collection(store, read_only=True, tell=tell) as first:
        workers = first.kept_workers(limits.threads)

    def opened() -> Collection:
        collection = open_collection(store, read_only=True, tell=tell)
        collection.workers = workers
        return collection

    made = service_application(
        opened,
        limits,
        hosts=listening.names,
        token=token,
        with_tools=mcp,
    )
    config = uvicorn.Config(
        made, http=partial(BoundedConnection, limits.timeout),  # type: ignore[arg-type]  # called as a class is
        ws="none", loop="asyncio", lifespan="on", log_level="error", access_log=False, server_header=False,
        proxy_headers=False, ssl_certfile=listening.tls_certificate, ssl_keyfile=listening.tls_key,
        h11_max_incomplete_event_size=_LARGEST_HEAD, timeout_graceful_shutdown=5,
    )  # fmt: skip
    # A request that fails leaves a trace, and a thousand of them a second leave one.
    logging.getLogger("uvicorn.error").addFilter(Seldom(1.0))
    try:
        config.load()
    except (OSError, ValueError) as error:
        raise UsageError(f"{listening.tls_certificate}: the certificate or its key can't be used: {error}") from None
    listener = partial(Listener, most=most_connections(), tell=lambda text: tell(text, level="warning"))
    with _bound(listening.host, listening.port, listener) as bound:
        scheme = "https" if listening.tls_certificate else "http"
        host = f"[{listening.host}]" if ":" in listening.host else listening.host
        if told is not None:
            told(f"{scheme}://{host}:{bound.getsockname()[1]}")
        with workers:
            uvicorn.Server(config).run(sockets=[bound])


def serve_tools(store: str | os.PathLike[str], limits: ServiceLimits, *, tell: Tell) -> None:
    """Answer an agent over standard input and output by the Model Context Protocol, until the input ends.

    Raises StoreError, and MachineError if packages of the extra are missing.
    """
    with _needed(_OF_TOOLS, "mcp"):
        import anyio
        from mcp.server.stdio import stdio_server

        from indexer.service.answering import Answerers
        from indexer.service.tools import tools_server

    def opened() -> Collection:
        return open_collection(store, read_only=True, tell=tell)

    opened().close()
    answerers = Answerers(opened, limits)

    async def answer_all() -> None:
        server = tools_server(answerers)
        async with stdio_server() as (asked, answered):
            await server.run(asked, answered, server.create_initialization_options())

    try:
        anyio.run(answer_all)
    finally:
        answerers.close()


@contextmanager
def _needed(what: str, extra: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MachineError(f"{what}: pip install 'neardup[{extra}]'") from error


def _bound(host: str, port: int, listener: Callable[[int, int, int], socket.socket]) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = listener(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # From here on who asks waits, and is not refused.
        bound.listen(_BACKLOG)
    except OSError as error:
        raise MachineError(f"{host}:{port}: can't listen there: {error}") from None
    return bound
