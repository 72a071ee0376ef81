"""Mailboxes of mailing lists: what of a reply is quoted, before and after quotations, signatures and footers go.

Run as `python -m tests.benchmarks mails --mailbox FILE...`, with archives of lists as `.mbox` files. Quoted are runs of
five words in a reply that an earlier mail of its thread has too. A footer names the list and its address. Own lines are
those of five words and more without such a run and without a sign of quotation, except for introductions, the fields of
a head, and lines that their author ends three mails with.
"""

from __future__ import annotations

import argparse
import mailbox
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.header import decode_header, make_header
from email.message import Message

from indexer.text.quotations import own_words

_RUN = 5
_ENDS, _LAST_LINES = 3, 8
_MARKED = re.compile(r"\s*[>|]")
_MARKS = re.compile(r"^[>| \t]+", re.MULTILINE)
_FOOTER = re.compile(r"mailing list\s+(?:https?://|\S+(?:@| at )\S)", re.IGNORECASE)
_NOT_OWN = re.compile(r".*\d[:.]\d\d.*|.*:\s*$|\s*\*?[\w -]{1,20}:\*?\s|\s*_{5,}|.*\S(?:@| at )\S+\.\w")


@dataclass(frozen=True, slots=True)
class _Mail:
    author: str
    text: str
    thread: str


def run() -> None:
    """Say that a mailbox has to be named."""
    print("needs archives of lists, named by --mailbox: not measured")


def main(arguments: Sequence[str]) -> dict[str, Counter[str]]:
    """Measure and print, for each mailbox; gives the counts."""
    parser = argparse.ArgumentParser(prog="mails")
    parser.add_argument("--mailbox", nargs="*", default=[], help="archives of lists; nothing is measured without")
    made = {}
    for name in parser.parse_args(arguments).mailbox:
        counts = made[name] = measured([*_mails(name)])
        print(
            f"{name}: {counts['mails']:,} mails, {counts['replies']:,} replies, of whose words "
            f"{counts['quoted'] / counts['words']:.1%} stand in an earlier mail of their thread; after "
            f"{counts['left'] / counts['kept']:.1%}, {counts['left'] / counts['quoted']:.1%} of what was quoted; "
            f"footers {counts['footers']:,}, after {counts['footers left']:,}; of {counts['own']:,} own lines "
            f"{counts['own kept'] / counts['own']:.1%} are left",
            flush=True,
        )
    return made


def measured(mails: Sequence[_Mail]) -> Counter[str]:
    """The counts of runs, footers and lines of mails in the order of their time."""
    counts = Counter[str](mails=len(mails))
    endings = Counter((mail.author, line) for mail in mails for line in {*_lines(mail.text)[-_LAST_LINES:]})
    earlier: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for mail in mails:
        own, before = own_words(mail.text), earlier[mail.thread]
        counts["footers"] += bool(_FOOTER.search(mail.text))
        counts["footers left"] += bool(_FOOTER.search(own))
        if before:
            runs, kept = _runs(mail.text), _runs(own)
            counts["replies"] += 1
            counts["words"] += len(runs)
            counts["quoted"] += sum(run in before for run in runs)
            counts["kept"] += len(kept)
            counts["left"] += sum(run in before for run in kept)
        there = {*_lines(own)}
        for line in _lines(mail.text):
            is_other = _NOT_OWN.match(line) or endings[mail.author, line] >= _ENDS
            if not is_other and (own_runs := _runs(line)) and before.isdisjoint(own_runs):
                counts["own"] += 1
                counts["own kept"] += line in there
        before.update(_runs(mail.text))
    return counts


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not _MARKED.match(line)]


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", _MARKS.sub("", text).lower())
    return [*zip(*(words[start:] for start in range(_RUN)), strict=False)]


def _mails(name: str) -> Iterable[_Mail]:
    """The mails of a mailbox, each with the first mail of its thread, as far as it is there."""
    threads = dict[str, str]()
    for message in mailbox.mbox(name, create=False):
        own, above = _field(message, "Message-ID"), _field(message, "In-Reply-To").split()
        thread = threads[own] = next((threads[each] for each in above if each in threads), own)
        data = message.get_payload(decode=True)
        if isinstance(data, bytes):
            yield _Mail(_field(message, "From"), data.decode("utf-8", "replace"), thread)


def _field(message: Message, name: str) -> str:
    return str(make_header(decode_header(str(message.get(name) or "")))).strip()
