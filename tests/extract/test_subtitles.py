"""Subtitles: what is said, however it is timed, numbered, marked up or rolled."""

from __future__ import annotations

import pytest

from indexer.extract.base import Limits, Options
from indexer.extract.document import read_document

LINES = ["The baker opens at five & sells bread", "to fishermen on their way", "down to the boats."]
SAID = "\n".join(LINES)


def time(seconds: float, mark: str) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{mark}{int(seconds * 1000) % 1000:03}"


def srt(lines: list[str], begin: float = 0.0) -> str:
    cues = (
        f"{n + 1}\n{time(begin + 2 * n, ',')} --> {time(begin + 2 * n + 1.5, ',')}\n{line}\n"
        for n, line in enumerate(lines)
    )
    return "\n".join(cues)


def vtt(lines: list[str]) -> str:
    cues = (
        f"{time(2 * n, '.')[3:]} --> {time(2 * n + 1.5, '.')[3:]} align:start position:10%\n{line}\n"
        for n, line in enumerate(lines)
    )
    return "WEBVTT - a film\n\nNOTE made by hand\nin the evening\n\nSTYLE\n::cue { color: red }\n\n" + "\n".join(cues)


def read(text: str, name: str = "") -> tuple[str, str]:
    document = read_document(text.encode(), name, Options(), Limits())
    return document.format, document.text


@pytest.mark.parametrize(
    "text",
    [
        srt(LINES),
        srt(LINES, 3725.25),
        srt(LINES).replace("\n", "\r\n"),
        "\ufeff" + srt(LINES),
        vtt([line.replace("&", "&amp;") for line in LINES]),
        srt([f"<i>{line}</i>" for line in LINES]),
        srt([f"{{\\an8}}{line}" for line in LINES]),
        vtt(["<v Ann>The <00:00:01.200><c>baker</c> opens at five &amp; sells bread</v>", *LINES[1:]]),
        # The first line stays while the next one comes.
        srt([LINES[0], f"{LINES[0]}\n{LINES[1]}", f"{LINES[1]}\n{LINES[2]}", f"{LINES[2]}\n "]),
        vtt(LINES).replace("00:00.000 -->", "intro\n00:00.000 -->"),
    ],
)
@pytest.mark.parametrize("name", ["film.srt", "film.vtt", "film.txt", "film", "film.csv"])
def test_only_what_is_said_is_the_text(text: str, name: str) -> None:
    assert read(text, name) == ("subtitles", SAID)


def test_a_note_in_between_is_left_out_and_what_is_said_again_later_is_not() -> None:
    said = ["No.", "Yes, the bread is baked with rye.", "No."]
    assert read(srt(said), "a.srt")[1].split("\n") == said
    noted = vtt(said[:2]) + "\nNOTE cut here\n\n" + vtt(said[2:]).partition("}\n\n")[2]
    assert read(noted, "a.vtt")[1].split("\n") == said
    found = read_document(noted.encode(), "a.vtt", Options(), Limits())
    notes = ["NOTE made by hand in the evening", "STYLE ::cue { color: red }", "NOTE cut here"]
    assert found.left_out == tuple(("note", each) for each in notes)


def test_who_speaks_stands_beside_the_text() -> None:
    said = ["<v.loud Ann Ash>Who took the ladder?", "<v Ben &amp; Cem>Nobody.", "<v Ann Ash>It stood <v>here.</v>"]
    found = read_document(vtt(said).encode(), "a.vtt", Options(), Limits())
    assert found.text == "Who took the ladder?\nNobody.\nIt stood here."
    turns = ["Ann Ash, 4 words", "Ben & Cem, 1 word", "Ann Ash, 3 words"]
    assert [text for kind, text in found.left_out if kind == "speaker"] == turns


def test_subtitles_tell_who_says_what() -> None:
    said = [["<v Ann>Is it late?", f"<v {name}>It is.", "<v Ben>Then we go."] for name in ("Ann", "Ben")]
    one, other = (read_document(vtt(lines).encode(), "a.vtt", Options(), Limits()) for lines in said)
    assert one.text == other.text
    assert one.left_out != other.left_out


@pytest.mark.parametrize(
    "text", ["Shots: 00:00:01 --> 00:00:04 is the first.\nIt was raining.", "12\napples --> pears", "A film in words."]
)
def test_a_text_without_cues_is_a_text(text: str) -> None:
    assert read(text, "a.txt") == ("text", text)
    assert read(text, "a.srt")[1] == text


def test_numbers_that_are_said_stay() -> None:
    assert read(srt(["Count:", "3", "2", "1"]), "a.srt")[1].split("\n") == ["Count:", "3", "2", "1"]


def test_subtitles_made_to_take_time_take_none() -> None:
    for piece in ("00:00:01,000 --> 00:00:02,000\n", "<a", "{\\a", "WEBVTT\nNOTE\n", "1\n"):
        assert read(srt(LINES) + "\n" + piece * 50_000, "a.srt")[0] == "subtitles"
