"""`neardup serve` and `neardup mcp`."""

from __future__ import annotations

from typing import Annotated

from indexer.cli.options.commands import Taking, command
from indexer.cli.options.shared import StoreAsked
from indexer.cli.terminal.output import say, shown_store
from indexer.model.declared import Option
from indexer.service.limits import Listening, ServiceLimits


@command(short_help="Answer questions over HTTP.")
def serve(
    *, store: StoreAsked, listening: Listening, limits: ServiceLimits,
    mcp: Annotated[bool, Option("Answer agents too, at /mcp, by the Model Context Protocol.")],
) -> None:  # fmt: skip
    """Answer questions of programs over HTTP, read-only.

    Examples:
      neardup serve
      neardup serve --store https://host:9200/articles --threads 8
      curl -s localhost:8600/seen -H 'Content-Type: application/json' -d '{"documents": [{"text": "..."}]}'
      curl -s localhost:8600/similar -H 'Content-Type: application/octet-stream' --data-binary @draft.pdf

    A POST for each question: /similar, /seen (is this new, or which stored document does it repeat), /distinct (hits of
    any search, with their copies folded), /compare and /fingerprint. GET /openapi.json describes them; GET /healthz
    answers while the service runs. The answers are those of --json.

    Nothing is ever written. A request holds texts, the bytes of a file, or ids of stored documents, never a file name
    or URL of this machine. The token, at least 16 characters, may also be in NEARDUP_SERVE_TOKEN. With --mcp agents
    find the same questions as tools of the Model Context Protocol at /mcp. Needs the extra serve, and for --mcp also
    mcp.
    """
    from indexer.service import serving

    serving.serve(
        store, listening, limits, mcp=mcp, tell=say,
        told=lambda url: say(f"{shown_store(store)} answers at {url}", url=url),
    )  # fmt: skip


@command(short_help="Answer an agent's questions.")
def mcp(*, store: StoreAsked, limits: Annotated[ServiceLimits, Taking(without=("max_request",))]) -> None:
    """Answer the questions of an agent (Model Context Protocol), read-only.

    Examples:
      neardup mcp --store texts.neardup
      neardup mcp --store https://host:9200/articles

    Speaks the Model Context Protocol over standard input and output. The agent's own program starts it; name this
    command in its settings. The tools are the questions of neardup serve: similar, seen, distinct, compare and
    fingerprint. They only read: an agent can propose deletions, and people decide. Texts of documents reach the agent
    marked as data. neardup serve --mcp does the same over HTTP. Needs the extra mcp.
    """
    from indexer.service import serving

    serving.serve_tools(store, limits, tell=say)


COMMANDS = (serve, mcp)
