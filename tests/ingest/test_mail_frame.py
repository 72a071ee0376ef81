"""A disclaimer below many mails: no sketch rests on it, in whatever order and in however many runs they come."""

from __future__ import annotations

import mailbox
import textwrap
from pathlib import Path

import pytest

import indexer
from indexer.ingest.indexing import store_info
from indexer.ingest.mail_frame import MailEnd, MailFrame, without_frame
from indexer.library.opening import open_store
from indexer.model import Ref
from tests.cli.written import prose
from tests.ingest.disclaimed import mail, near, written


@pytest.mark.parametrize("kind", ["plain", "html"])
def test_unlike_mails_are_not_near_and_copies_are(tmp_path: Path, kind: str) -> None:
    mails = [mail(number, kind=kind, attached=not number % 5) for number in range(60)]
    copy = mail(3, kind=kind).replace(b"Topic 3", b"Fwd: Topic 3").replace(b"<3.40@", b"<x@")
    folder = written(tmp_path / "in", [*mails, copy])
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(folder, id_from="relative")
        assert near(store) == {frozenset(("003.eml", "060.eml"))}
        assert store.cluster().clusters == 1
        # Texts and digests keep the disclaimer, and are read again as they were.
        assert {one.relation for one in store.pairs(relation=True)} == {"form"}
        assert {one.relation for one in store.prune(dry_run=True).surplus} == {"form"}
        for name in ("000.eml", "059.eml"):
            question = written(tmp_path / "asked", [(folder / name).read_bytes()]) / "000.eml"
            [answer] = store.similar(path=question, limit=9)
            assert (answer.id, answer.similarity) == (name, 1.0)


def test_mails_in_a_mailbox(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "all.mbox")
    for number in range(30):
        box.add(mail(number))
    box.close()
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(tmp_path / "all.mbox")
        assert near(store) == set()


@pytest.mark.parametrize("cluster", [False, True])
def test_runs_of_few_mails_learn_together(tmp_path: Path, cluster: bool) -> None:
    with indexer.open(tmp_path / "a.neardup") as store:
        for first in range(0, 24, 4):
            folder = written(tmp_path / "in", [mail(number) for number in range(first, first + 4)], first)
            store.index(folder, id_from="relative", cluster=cluster)
            if first == 0:
                assert len(near(store)) == 6
        assert near(store) == set()
        assert store.cluster().clusters == 0


def test_alike_mails_make_no_frame(tmp_path: Path) -> None:
    # Twenty reminders that differ in their number.
    body = textwrap.fill(prose(5, 90), 72)
    mails = [mail(number, 2, below=f"Your bill {number}\n{body}") for number in range(20)]
    with indexer.open(tmp_path / "a.neardup") as store:
        store.index(written(tmp_path / "in", mails), id_from="relative")
        assert len(near(store)) == 190


def test_what_is_left_out(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.neardup", create=store_info("landmarks")) as store:
        frame = MailFrame(store)
        for number in range(10):
            own, end = without_frame(f"{prose(number, 30)}\nRegards\nAnn", frame.told)
            assert own.endswith("Ann")
            frame.note(Ref(str(number)), end)
    text = f"Another text\nRegards\nNew words\nRegards\nAnn\na.pdf {'0a' * 8}"
    own, end = without_frame(text, frame.told)
    assert own.splitlines() == ["Another text", "Regards", "New words", "", f"a.pdf {'0a' * 8}"]
    assert end.cut == 2
    # If nothing else is said, these lines are what is said.
    assert without_frame("Regards\nAnn", frame.told)[0] == "Regards\nAnn"
    assert sorted(frame.late()) == [Ref(str(number)) for number in range(10)]
    frame.settle()
    assert frame.late() == []


def test_a_damaged_note_is_learned_anew(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.neardup", create=store_info("landmarks")) as store:
        for end in (
            "no JSON",
            "[7]",
            '[["a", "", null, [1], [], 0]]',
            '[["a", "", null, [1, 2], [[1], ["x"]], 0]]',
            '[["a", "", [1], [1], [[2]], 0]]',
            '[["a", "", null, [Infinity], [[2]], 0]]',
            '[["a", "", null, [-1], [[2]], 0]]',
        ):
            store.put_resource("mail-ends", end.encode())
            store.put_resource("mail-frame", b"odd")
            frame = MailFrame(store)
            assert (frame.told, frame.late()) == (b"", [])
        frame.note(Ref("a"), MailEnd((1,), ((2,),)))
        frame.keep(store)
        assert store.get_resource("mail-ends") == b'[["a", "", null, [1], [[2]], 0]]'
