"""Stories as sites print them: twenty frames around one body, and corrected bodies."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.relations.labelled import Writer

PLACES = ("Ulm", "Dover", "Arles", "Parma", "Cadiz", "Bergen", "Turku", "Riga")
PEOPLE = ("Anna Meyer", "Ben Cole", "Clara Novak", "David Lund", "Emma Ricci", "Felix Brandt")
MONTHS = ("January", "March", "May", "July", "October")


class Story(NamedTuple):
    """A story: its title, its paragraphs, and where it is set."""

    title: str
    paragraphs: tuple[str, ...]
    place: str


class Detail(NamedTuple):
    """What a site says around a story: a day, a month, a reporter and a number of comments."""

    day: int
    month: str
    person: str
    comments: int


def story(seed: int) -> Story:
    """A story of some twenty sentences."""
    writer = Writer("en", seed)
    paragraphs = tuple(" ".join(writer.sentence() for _ in range(3)) for _ in range(7))
    return Story(f"{writer.words().split(' (')[0]}, the town says", paragraphs, writer.draw.choice(PLACES))


def _framed(
    head: str, foot: str, dateline: str = "", *, title: str = "{title}", caption: str = ""
) -> Callable[[Story, Detail], str]:
    def printed(told: Story, detail: Detail) -> str:
        said = {**detail._asdict(), "title": told.title, "place": told.place, "PLACE": told.place.upper()}
        first, *rest = told.paragraphs
        body = [f"{dateline.format(**said)}{first}", *([caption.format(**said)] if caption else []), *rest]
        return "\n\n".join(
            part for part in (head.format(**said, head=title.format(**said)), *body, foot.format(**said)) if part
        )

    return printed


FRAMES = (
    _framed("{head}\nBy Newsdesk", ""),
    _framed("The Coast Daily\n{head}\n{person}, our reporter in {place}\n{day} {month} 2031", "Share this story"),
    _framed(
        "{head}\nPublished {month} {day}, 2031 at 10:05",
        "{comments} comments\nRelated: the mayor resigns",
        "{PLACE} – ",
    ),
    _framed("Home\nSport\nWeather\n{head}", "© 2031 Harbour Post. All rights reserved.", "{place} (agency) — "),
    _framed("{head}\nfrom our own correspondent", "Read also\nA bridge is open again\nWhat the winter costs"),
    _framed("News | Region\n{head}\nText: {person}", "Print this page", "{PLACE}, {month} {day} – "),
    _framed("{head}\n{person} / {day}.{comments}.2031, 07:15", "Subscribe to our newsletter\nImprint and contact"),
    _framed("Menu and search\n{head}", "Tags: harbour, town\nreading time of 4 minutes"),
    _framed("{head}\n\nlast changed on {day} {month}", "Do you know more about this?", caption="A picture of the quay"),
    _framed("Evening edition, page {comments}\n{head}", "to be continued on the next page", "{place}. – "),
    _framed("{head}\nan article of the news agency", "Follow us for more of this"),
    _framed("The Border Gazette\nfounded by sailors\n{head}", "letters to the editor", "{PLACE} (bg) – "),
    _framed("{head}\n{comments} people read this", "next story\nprevious story", caption="photo by {person}"),
    _framed("Breadcrumb > town > harbour\n{head}\nwritten by {person}", "back to the top"),
    _framed("local news of {day} {month}\n{head}", "advertise with us\nabout this site"),
    _framed("{head}\nfirst published by The Coast Daily", "Source: agency"),
    _framed("text version\n{head}", "show the page with pictures"),
    _framed("{head}\n{day}/{comments}/2031 | {person} | for members", "log in to comment", "{place}: "),
    _framed("weekly letter no. {comments}\n{head}", "you get this since you asked for it"),
    _framed("archive of {month} 2031\n{head}\nsigned {person}", "how to quote this page", "{PLACE} — "),
)


def detail(seed: int) -> Detail:
    """What a site says around a story."""
    draw = random.Random(seed)
    return Detail(draw.randrange(1, 29), draw.choice(MONTHS), draw.choice(PEOPLE), draw.randrange(2, 90))


class Reprint(NamedTuple):
    """Two reprints of a story, the right one also with one number of its body corrected, and by a sentence longer."""

    left: str
    right: str
    corrected: str
    longer: str


def reprints(stories: int) -> Iterator[Reprint]:
    """Each story in each two of the frames."""
    for number in range(stories):
        told = story(number)
        draw = random.Random(number)
        numbered = [place for place, each in enumerate(told.paragraphs) if "(" in each]
        place = draw.choice(numbered)
        corrected = [*told.paragraphs]
        before, _, rest = corrected[place].partition("(")
        figure, _, behind = rest.partition(")")
        corrected[place] = f"{before}({int(figure) + 1}){behind}"
        longer = [*told.paragraphs]
        longer[3] += " Nobody from the town wanted to speak to us."
        for one in range(len(FRAMES)):
            for other in range(one + 1, len(FRAMES)):
                left, right = detail(one + 100 * number), detail(other + 100 * number + 50)
                yield Reprint(
                    FRAMES[one](told, left),
                    FRAMES[other](told, right),
                    FRAMES[other](told._replace(paragraphs=tuple(corrected)), right),
                    FRAMES[other](told._replace(paragraphs=tuple(longer)), right),
                )
