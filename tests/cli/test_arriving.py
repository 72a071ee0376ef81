"""Documents that come near stored ones: `neardup index` with clusters, `--skip-duplicates` and `--on`."""

from __future__ import annotations

from tests.cli.command import ALIKE, Neardup, contents, mixed_folder, write
from tests.cli.written import changed, html, prose
from tests.relations.reprints import reprints


def test_index_puts_documents_into_clusters_as_they_come(neardup: Neardup) -> None:
    mixed_folder(neardup.folder)
    done = neardup("index", "docs", "--cluster", "--json", "--new-to", "new.txt").json
    assert (done["new"], done["near"]) == (2, 4)
    new = (neardup.folder / "new.txt").read_text().split()
    assert "docs/other.html" in new
    assert len(new) == 2
    assert neardup("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    write(neardup.folder, {"docs/later.html": html(prose(2))})
    assert neardup("index", "docs", "--cluster", "--json").json["near"] == 1
    assert neardup("cluster", "--json").json["written"] == {"documents": 0, "clusters": 0, "removed": 0}
    assert "--new-to goes with" in neardup("index", "docs", "--new-to", "-", code=2).err


def test_what_comes_obeys_the_rule_of_the_clusters(indexed: Neardup) -> None:
    write(indexed.folder, {"docs/later.txt": changed(prose(1), 50)})
    indexed("cluster", "--match", "minhash@0.5", "--canonical", "longest")
    for arguments in (["-k", "3"], ["--match", "minhash@0.7"], ["--canonical", "earliest"], ["--bound", "0.2"]):
        refused = indexed("index", "docs", "--cluster", *arguments, code=2).err
        assert "the store's clusters were made with the" in refused
        assert "run neardup cluster with the new one first" in refused
    same = ["--match", "minhash@0.5", "--canonical", "longest"]
    assert indexed("index", "docs", "--cluster", *same, "--json").json["near"] == 1
    shown = indexed("cluster", *same, "--json").json
    assert (shown["clustered"], shown["written"]["documents"]) == (6, 0)
    # What is only left out may be judged in another way; a rule that can't be looked up is refused before anything.
    # A text with a word more is reworded, and so stays; what says the same as one that stays is left out.
    write(indexed.folder, {"docs/more.txt": changed(prose(1), 70), "docs/longer.txt": f"{prose(1)}."})
    assert indexed("index", "docs", "--skip-duplicates", "-k", "7", "--json").json["duplicates"] == 1
    write(indexed.folder, {"docs/again.txt": prose(1)})
    assert indexed("index", "docs", "--skip-duplicates", "-k", "7", "--json").json["duplicates"] == 2
    assert "0bits to 7bits" in indexed("index", "docs", "--skip-duplicates", "-k", "9", code=2).err
    read = ["--match", "simhash-doc@3bits+text@0.5"]
    assert "can't be verified by reading" in indexed("index", "docs", "--skip-duplicates", *read, code=2).err
    assert "is complete" in indexed("index", "docs", "--cluster", "-k", "3", "--match", "minhash", code=2).err


def test_near_copies_can_be_left_out(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/a.txt": prose(1)})
    neardup("index", "docs")
    mixed_folder(neardup.folder)
    done = neardup("index", "docs", "--skip-duplicates", "--strict", "--exclude", "broken.pdf", "--json").json
    assert (done["duplicates"], done["new"], done["failed"]) == (4, 1, {})
    records, failures = contents(neardup)
    # A sentence of near.txt has a word more, so it is stored.
    assert set(records) == {"docs/a.txt", "docs/near.txt", "docs/other.html", "docs/short.txt", "docs/empty.txt"}
    assert {name: each["reason"] for name, each in failures.items()} == dict.fromkeys(ALIKE[:-1], "duplicate")
    listed = neardup("failures", "--reason", "duplicate").out
    assert listed.count("docs/a.txt") == 4
    # Once what they repeat is gone, the first of them takes its place.
    neardup("delete", "docs/a.txt")
    (neardup.folder / "docs/a.txt").unlink()
    again = neardup("index", "docs", "--skip-duplicates", "--exclude", "broken.pdf", "--json").json
    assert (again["indexed"], again["duplicates"]) == (1, 3)
    # And without the option all are stored, and are failures no more.
    neardup("index", "docs", "--exclude", "broken.pdf")
    assert set(contents(neardup)[0]) >= set(ALIKE)
    assert contents(neardup)[1] == {}


def test_forms_are_not_left_out_unless_told(neardup: Neardup) -> None:
    letter = f"Invoice of {{}}. {prose(4)} Please pay {{}} EUR."
    write(neardup.folder, {"docs/a.txt": letter.format("1 May 2024", "120.00")})
    neardup("index", "docs")
    copy = letter.format("1 May 2024", "120.00").replace(" ", "\n\n", 3)
    write(neardup.folder, {"docs/b.txt": letter.format("2 May 2024", "95.50"), "docs/c.md": f"* {copy}"})
    done = neardup("index", "docs", "--skip-duplicates", "--json").json
    assert (done["indexed"], done["duplicates"]) == (1, 1)
    assert set(contents(neardup)[0]) == {"docs/a.txt", "docs/b.txt"}
    compared = neardup("compare", "docs/a.txt", "docs/b.txt", "--json").json
    assert compared["relation"] == "form"
    assert {"kind": "amount", "left": "120.00 EUR", "right": "95.50 EUR"} in compared["facts"]
    assert "relation  form: 2 facts differ: " in neardup("compare", "docs/a.txt", "docs/b.txt").out
    [near] = neardup("similar", "docs/a.txt", "--passages", "--json").json["matches"]
    assert (near["relation"], len(near["facts"])) == ("form", 2)
    for number, way in enumerate((["--skip", "identical,form"], ["--verify", "sketch"])):
        write(neardup.folder, {f"docs/{number}.txt": letter.format("3 May 2024", f"{number}.99")})
        done = neardup("index", "docs", "--skip-duplicates", "--retry-failed", *way, "--json").json
        assert (done["indexed"], done["duplicates"]) == (0, 1 + (number + 1))


def test_skip_names_relations_and_a_longer_document_is_stored(neardup: Neardup) -> None:
    text = prose(1, 80) + '. It is "tea". ' + prose(2, 80) + "."
    write(neardup.folder, {"docs/a.txt": text})
    neardup("index", "docs")
    write(
        neardup.folder,
        {"docs/lines.txt": text.replace('"tea"', "“tea”"), "docs/longer.txt": f"{text} It was repealed."},
    )
    done = neardup("index", "docs", "--skip-duplicates", "--skip", "identical", "--json").json
    assert (done["indexed"], done["duplicates"]) == (2, 0)
    write(neardup.folder, {"docs/same.txt": text.upper(), "docs/more.txt": text.replace('"tea"', "„tea“")})
    done = neardup("index", "docs", "--skip-duplicates", "--json").json
    assert (done["indexed"], done["duplicates"]) == (0, 2)
    assert "goes with --skip-duplicates" in neardup("index", "docs", "--skip", "form", code=2).err
    assert "--parts" in neardup("index", "docs", "--skip-duplicates", "--skip", "part", code=2).err


def test_each_relation_has_its_action_on_arrival(neardup: Neardup) -> None:
    pair = next(iter(reprints(1)))
    write(neardup.folder, {"docs/story.txt": pair.left})
    neardup("index", "docs")
    write(neardup.folder, {"new/frame.txt": pair.right, "new/same.txt": pair.left.upper(), "new/y.txt": pair.corrected})
    chosen = ("index", "new", "--on", "identical=skip", "--on", "rendition=mark", "--on", "form,reworded=refuse")
    done = neardup(*chosen, "--json").json
    counts = ("indexed", "marked", "duplicates", "failed")
    assert [done[name] for name in counts] == [1, 1, 1, {"refused-duplicate": 1}]
    found = {
        row["id"]: (row["reason"], row["detail"].rpartition("; ")[2]) for row in neardup("failures", "--json").lines
    }
    assert found == {
        "new/same.txt": ("duplicate", "identical"),
        "new/frame.txt": ("marked-duplicate", "rendition"),
        "new/y.txt": ("refused-duplicate", "form"),
    }
    assert neardup("show", "new/frame.txt", "--json").json["duplicate_of"] == "docs/story.txt"
    neardup("cluster")
    left_out = neardup("report", "--format", "json", "-o", "-").json["left_out"]
    assert {each["reason"] for each in left_out} == {"refused-duplicate", "duplicate"}
    # What was left out is looked at again, and stored where nothing says otherwise.
    again = neardup(*chosen, "--strict", code=6).out
    assert "refused-duplicate 1" in again
    assert neardup("index", "new", "--skip-duplicates", "--on", "identical=store", "--json").json["indexed"] == 2


def test_a_copy_of_a_form_or_rendition_that_stays_is_skipped(neardup: Neardup) -> None:
    pair = next(iter(reprints(1)))
    stored = {"docs/story.txt": pair.left, "docs/frame.txt": pair.right, "docs/corrected.txt": pair.corrected}
    write(neardup.folder, stored)
    neardup("index", "docs")
    neardup("cluster")
    write(neardup.folder, {f"new/{name[5:]}": text.upper() for name, text in stored.items()})
    assert neardup("index", "new", "--skip-duplicates", "--json").json["duplicates"] == 3


def test_an_action_that_loses_something_counts_for_one_command(neardup: Neardup) -> None:
    write(neardup.folder, {"docs/a.txt": prose(1)})
    for chosen, said in (
        (["form=drop"], "store, skip, mark, refuse"),
        (["form"], "RELATION=ACTION"),
        (["nothing=mark"], "say some of"),
        (["part=skip"], "--parts"),
        (["form=mark", "--on", "form=skip"], "has the action mark already"),
    ):
        assert said in neardup("index", "docs", "--on", *chosen, code=2).err
    for relation in ("rendition", "form", "reworded", "edited"):
        for action in ("skip", "refuse"):
            said = neardup("index", "docs", code=2, NEARDUP_INDEX_ON=f"identical=skip {relation}={action}").err
            assert f"--on {relation}" in said
            write(neardup.folder, {"neardup.toml": f'[index]\non = ["{relation}={action}"]\n'})
            assert "on the command line" in neardup("index", "docs", code=2).err
    for name, value in (("index", "skip"), ("prune", "remove"), ("batch.dedupe", "remove"), ("delete", "remove")):
        write(neardup.folder, {"neardup.toml": f'[{name}]\n{value} = "identical"\n'})
        assert "on the command line alone" in neardup("index", "docs", code=2).err
    write(neardup.folder, {"neardup.toml": '[index]\non = ["rendition,part=mark", "noise=refuse"]\n'})
    assert neardup("index", "docs", "--json").json["indexed"] == 1
