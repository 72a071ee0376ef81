"""What a report says could go is what prune names."""

from __future__ import annotations

import json
import random
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

import indexer
from indexer.clustering.decision_file import FORM
from indexer.library.collection import Collection
from tests.cli.written import prose


def letter(seed: int, day: int) -> str:
    words = prose(seed).split()
    told = [" ".join(words[place : place + 10]).capitalize() for place in range(0, len(words), 10)]
    told.insert(5, 'We call it "the rent" here')
    told.insert(9, f"Please pay by {day} May 2024 the sum of {day}.50 EUR")
    return ". ".join(told) + "."


def mailed(text: str, day: int) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ann <a@example.org>", "The rent"
    mail["Date"] = f"Mon, {day:02} Jan 2026 10:00:00 +0100"
    mail.set_content(text, cte="8bit")
    return bytes(mail)


def same_in_other_lines(text: str) -> str:
    return text.replace(". ", ".\n* ").replace(' "', " “").replace('" ', "” ")


WAYS = {
    "same": str.upper,
    "lines": same_in_other_lines,
    "longer": lambda text: f"{text} It was repealed.",
    "moved": lambda text: ". ".join([*text.rstrip(".").split(". ")[1:], text.split(". ")[0]]) + ".",
}


def collected(folder: Path, seed: int, names: str) -> None:
    """Works in forms, of each form copies and mails; the canonical ones come anywhere among them."""
    draw = random.Random(seed)
    for work in range(4):
        for _ in range(draw.randint(1, 3)):
            day = draw.randint(2, 28)
            for _ in range(draw.randint(1, 4)):
                name = f"{draw.randrange(10**6):06}{names}"
                text = letter(100 * seed + work, day)
                if draw.random() < 0.2:
                    (folder / f"{name}.eml").write_bytes(mailed(text, draw.randint(5, 6)))
                else:
                    way = draw.choice(["", *WAYS])
                    (folder / f"{name}.txt").write_text(WAYS[way](text) if way else text)


def decided(collection: Collection, folder: Path, draw: random.Random) -> None:
    """Somebody calls two documents of a cluster not the same."""
    shown: list[dict[str, Any]] = []
    for cluster in collection.clusters():
        if cluster.size > 2:
            one, other = draw.sample(list(cluster.members), 2)
            documents = [{"id": each, "digest": collection.get(each).text_digest} for each in (one, other)]
            shown.append({"documents": [{**each, "choice": "apart"} for each in documents]})
    (folder / "decided.json").write_text(json.dumps({"form": FORM, "clusters": shown[:2]}))
    collection.decide(folder / "decided.json")


def agree(collection: Collection) -> int:
    """The number of documents that could go, for which the report and prune say the same."""
    figures = collection.report(pairs=0, sample=0).figures
    named = [one for one in collection.prune(dry_run=True).surplus if not one.kept]
    assert figures.could_go.documents == len(named)
    assert figures.could_go.bytes == sum(collection.get(one.id).bytes for one in named)
    amounts = (figures.could_go, figures.same_work, figures.differ, figures.undecided)
    assert figures.repeating.documents == sum(each.documents for each in amounts)
    assert figures.repeating.documents == sum(each.documents for each in figures.relations)
    assert sum(cluster.redundant for cluster in collection.store.clusters()) == len(named)
    return len(named)


@pytest.mark.parametrize("seed", range(3))
def test_the_report_counts_what_prune_names(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    collected(folder, seed, "a")
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.index(folder, id_from="relative")
        collection.cluster()
        first = agree(collection)
        assert first
        # The canonical rule prefers others.
        with pytest.warns(UserWarning, match="canonical rule"):
            collection.cluster(canonical="longest")
        agree(collection)
        decided(collection, tmp_path, random.Random(seed))
        collection.cluster()
        agree(collection)
        # More copies of the forms that stay.
        collected(folder, seed, "b")
        collection.index(folder, id_from="relative")
        collection.cluster()
        assert agree(collection) > first
        collection.prune(delete=True)
        collection.cluster()
        agree(collection)


def test_what_equals_a_form_that_stays_could_go_in_any_order(tmp_path: Path) -> None:
    texts = {"a": letter(1, 3), "b": letter(1, 4), "c": letter(1, 4).upper(), "d": same_in_other_lines(letter(1, 4))}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    for number, names in enumerate(("abcd", "dcba", "bdac")):
        with indexer.open(tmp_path / f"{number}.neardup") as collection:
            for name in names:
                collection.index(tmp_path / f"{name}.txt")
            collection.cluster()
            assert agree(collection) == 2


def test_what_cannot_be_read_is_not_said_to_go(tmp_path: Path) -> None:
    texts = {"a": letter(1, 3), "b": letter(1, 3).upper(), "c": same_in_other_lines(letter(1, 3)), "d": letter(1, 4)}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path)
        for name in texts:
            (tmp_path / f"{name}.txt").unlink()
        collection.cluster()
        assert agree(collection) == 1
        assert collection.report().figures.undecided.documents == 2


def test_prints_beside_a_corrected_canonical_one_are_one_work(tmp_path: Path) -> None:
    story = letter(7, 12)
    frames = {"b": "By Ada Kent", "c": "Coast and harbour", "d": "Local news", "d2": "LOCAL NEWS", "e": "The week"}
    prints = {"a": "From our desk\n\n" + story.replace("12.50 EUR", "18.50 EUR")}
    prints |= {name: f"{frame}\n\n{story}" for name, frame in frames.items()}
    lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in prints.items()]
    (tmp_path / "prints.jsonl").write_text("".join(lines))
    with indexer.open(tmp_path / "s.neardup") as collection:
        collection.index(tmp_path / "prints.jsonl")
        collection.cluster()
        said = {name: collection.get(name).cluster for name in prints}
        to = {name: (place.relation, place.relation_to or place.repeats) for name, place in said.items() if place}
        assert to == {
            "a": (None, None),
            "b": ("form", "a"),
            **dict.fromkeys("cde", ("rendition", "b")),
            "d2": ("identical", "d"),
        }
        report = collection.report(pairs=0, sample=0)
        rows = {each.record.ref.id: each.group for cluster in report.contents.clusters for each in cluster.members}
        assert rows == {"a": "stays", "b": "differs", **dict.fromkeys("cde", "same work"), "d2": "could go"}
        assert r"same work \u00b7 other format or frame, beside b" in report.to_html()
        figures = report.figures
        amounts = (figures.could_go, figures.same_work, figures.differ)
        assert [each.documents for each in amounts] == [1, 3, 1]
        works = {name: known["cluster"].get("work") for name, known in _annotations(collection).items()}
        assert works == {**dict.fromkeys(prints), "d2": "b"}
        # What was told stays, and a print that comes joins its work.
        assert collection.cluster().written.documents == 0
        more = json.dumps({"id": "f", "text": f"Morning paper\n\n{story}\n\nRead more"})
        (tmp_path / "more.jsonl").write_text(more)
        collection.index(tmp_path / "more.jsonl", cluster=True)
        collection.cluster()
        place = collection.get("f").cluster
        assert place
        assert (place.relation, place.relation_to) == ("rendition", "b")


def _annotations(collection: Collection) -> dict[str, Any]:
    return {ref.id: known for ref, known in collection.store.scan_annotations()}
