"""The sample of a report, judged in a browser pair by pair by the mouse and by keys, and what evaluate makes of it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.cli.command import Neardup, write
from tests.cli.written import prose
from tests.report.browsing import used_page

_COPIES, _OTHERS = 110, 40


def _other(text: str, seed: int) -> str:
    """A text that shares three quarters of its shingles with another one and ends as no other does."""
    words = text.split()
    return " ".join((*words[:175], *prose(seed, 25).split()))


def _made(folder: Path) -> None:
    """Copies in capitals or with a word more, and texts near others that say something else in the end."""
    texts: dict[str, bytes | str] = {}
    for number in range(_COPIES):
        text = prose(number)
        texts |= {f"docs/copy-{number}.txt": text, f"docs/copy-{number}-b.txt": text.upper()}
    for number in range(_COPIES, _COPIES + _OTHERS):
        text = prose(number)
        texts |= {f"docs/other-{number}.txt": text, f"docs/other-{number}-b.txt": _other(text, 1000 + number)}
    write(folder, texts)


def test_a_sample_that_was_clicked_through_says_how_right_the_rule_is(tmp_path: Path) -> None:
    _made(tmp_path)
    neardup = Neardup(tmp_path)
    neardup("index", "docs")
    neardup("cluster")
    neardup("report", "--sample", "70", "-o", "report.html")
    chance = random.Random(7)
    with used_page(tmp_path) as page:
        page.open(tmp_path / "report.html")
        right = 0
        for number in range(70):
            if number == 40:
                # Whoever comes back goes on where they were.
                page.reload()
            if number in (0, 40):
                # The keys work from there on.
                page.click("nav a[href^='#sample']")
            assert page.ask("document.getElementById('sample-status').textContent") == (
                f"Pair {number + 1} of 70; {number} judged"
            )
            shown = "#sample-section article:not([hidden])"
            links = page.ask(f"Array.from(document.querySelectorAll('{shown} a'), (link) => link.href)")
            assert len(links) == 2
            same = "/copy-" in links[0]
            right += same
            if number not in (0, 40) and chance.random() < 0.5:
                page.click(f"#sample-section button[data-choice={'keep' if same else 'apart'}]")
            else:
                page.press("s" if same else "n")
        page.click("#sample-save")
        saved = page.saved("judgments.json")
    said = neardup("evaluate", "--judgments", saved, "--json").json
    assert (said["documents"], said["sampled"], said["judged"], said["not_counted"]) == (150, 70, 70, [])
    [whole] = [each for each in said["shares"] if each["of"] == "all" and each["threshold"] == 0.6]
    assert (whole["judged"], whole["right"]) == (70, right)
    # The truth of all pairs; of those that were judged fewer are right, since the sample has more of what is rare.
    true = _COPIES / (_COPIES + _OTHERS)
    assert right / 70 < true - 0.05
    assert whole["precision"] == pytest.approx(true)
    assert 0.5 < whole["low"] < true < whole["high"] < 0.9
    # All copies share everything, and nearly all others less than 80%.
    assert said["fits"] == 0.8
    words = neardup("evaluate", "--judgments", saved).out
    assert f"of all, 150 documents, {true:.1%} are right ({whole['low']:.1%} to {whole['high']:.1%} with a" in words
    assert "the lowest threshold with 95% right: shares 80%; of these" in words
    # Whatever else is in the file counts for nothing: what is not in the sample is named.
    held = json.loads(saved.read_text())
    held["sample"]["judged"][0]["documents"][0]["id"] = "docs/elsewhere.txt"
    saved.write_text(json.dumps(held))
    fewer = neardup("evaluate", "--judgments", saved, "--json").json
    assert (fewer["judged"], [each["id"] for each in fewer["not_counted"]]) == (69, ["docs/elsewhere.txt"])
