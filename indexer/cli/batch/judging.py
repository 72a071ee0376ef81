"""Options and messages of verifying a batch by its texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.cli.terminal.answers import relations_shown
from indexer.cli.terminal.output import say
from indexer.text.counts import counted

if TYPE_CHECKING:
    from indexer.library.batch_outcomes import BatchClustered, BatchDeduped


def tell_unverified(done: BatchClustered | BatchDeduped) -> None:
    if done.not_verified:
        say(
            f"{counted(done.not_verified, 'document')} near a kept one could not be verified, and stay: run it where "
            f"the files are, or use --verify sketch to go by sketches alone and remove forms too",
            level="warning",
        )


def judged_fields(done: BatchClustered | BatchDeduped) -> list[tuple[str, str]]:
    lost = f"; {counted(done.lost, 'word')} of theirs stand in no kept document" if done.lost else ""
    stays = sorted(done.stays.items(), key=lambda one: (-one[1], one[0]))
    seconds = done.reading_seconds
    return [
        ("relations", relations_shown(done.relations) + lost),
        *(("stay" if not place else "", f"{count:,}: {why}") for place, (why, count) in enumerate(stays)),
        ("texts", "" if seconds is None else f"read again in {seconds:.1f} s"),
    ]
