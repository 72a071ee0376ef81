"""`neardup serve` and `neardup mcp`."""

from __future__ import annotations

from typing import Annotated

from indexer.cli.options.answers import command
from indexer.cli.options.groups import Taking
from indexer.cli.options.shared import StoreAsked
from indexer.cli.terminal.output import say, shown_store
from indexer.model.declared import Option
from indexer.service.limits import ServiceLimits


@command(
    short_help="Answer questions over HTTP.",
    epilog="""
\b
Examples:
  neardup serve
  neardup serve --store https://host:9200/articles --threads 8
  curl -s localhost:8600/seen -H 'Content-Type: application/json' -d '{"documents": [{"text": "..."}]}'
  curl -s localhost:8600/similar -H 'Content-Type: application/octet-stream' --data-binary @draft.pdf

A POST for each question: /similar, /seen (is this new, or which stored document does it repeat), /distinct (hits of
any search, with their copies folded), /compare and /fingerprint. GET /openapi.json describes them; GET /healthz
answers while the service runs. The answers are those of --json.

Nothing is ever written. A request holds texts, the bytes of a file, or ids of stored documents, never a file name or
URL of this machine. The token, at least 16 characters, may also be in NEARDUP_SERVE_TOKEN. With --mcp agents find the
same questions as tools of the Model Context Protocol at /mcp. Needs the extra serve, and for --mcp also mcp.
""",
)
def serve(  # noqa: PLR0913 - they are options of the command
    *, store: StoreAsked,
    host: Annotated[str, Option("The address to listen on. Any other than this machine's own needs a token and TLS.",
        metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, Option("The port (0: any free one).", least=0, most=65535)] = 8600,
    allow_host: Annotated[tuple[str, ...], Option("A further name for the service in requests.", metavar="NAME")],
    token_file: Annotated[str | None, Option("A file with the bearer token for all requests.", kind="path",
        metavar="FILE")],
    tls_certificate: Annotated[str | None, Option("The certificate, for HTTPS.", kind="path", metavar="FILE")],
    tls_key: Annotated[str | None, Option("The private key of the certificate.", kind="path", metavar="FILE")],
    trust_network: Annotated[bool, Option("Listen on another address without a token or TLS. Everybody who reaches it "
        "can ask about the stored documents.")],
    limits: ServiceLimits,
    mcp: Annotated[bool, Option("Answer agents too, at /mcp, by the Model Context Protocol.")],
) -> None:  # fmt: skip
    """Answer questions of programs over HTTP, read-only."""
    from indexer.library.tokens import read_token
    from indexer.service import serving

    token = read_token(token_file, "--token-file", serving.TOKEN_VARIABLE)
    listening = serving.Listening(host, port, allow_host, token, tls_certificate, tls_key, trust_network)
    serving.serve(
        store, listening, limits, mcp=mcp, tell=say,
        told=lambda url: say(f"{shown_store(store)} answers at {url}", url=url),
    )  # fmt: skip


@command(
    short_help="Answer an agent's questions.",
    epilog="""
\b
Examples:
  neardup mcp --store texts.neardup
  neardup mcp --store https://host:9200/articles

Speaks the Model Context Protocol over standard input and output. The agent's own program starts it; name this command
in its settings. The tools are the questions of neardup serve: similar, seen, distinct, compare and fingerprint. They
only read: an agent can propose deletions, and people decide. Texts of documents reach the agent marked as data.
neardup serve --mcp does the same over HTTP. Needs the extra mcp.
""",
)
def mcp(*, store: StoreAsked, limits: Annotated[ServiceLimits, Taking(without=["max_request"])]) -> None:
    """Answer the questions of an agent (Model Context Protocol), read-only."""
    from indexer.service import serving

    serving.serve_tools(store, limits, tell=say)


COMMANDS = (serve, mcp)
