"""Pairs of texts whose relation is known, since they are made: ten languages, eight genres, and one change each."""

# ruff: noqa: E501 - what is said stands in tables

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

# Of each language: who, does, what, when or where; a sentence takes one of each. Then a limit, a doubt, a notice, and
# words that change a sentence when one replaces the other.
LANGUAGES = {
    "en": (
        "The harbour office|Each skipper|The night watch|A visitor|The cook|Our neighbour|The baker|The teacher",
        "reports|repairs|paints|counts|brings|sells|forgets|collects",
        "the old nets|every lantern|a wooden boat|the spare ropes|the keys of the shed|two maps|the tickets|a basket of plums",
        "before sunrise|after the long winter|near the upper bridge|with great care|in the small yard|until evening",
        ", unless it rains|Nobody believes that |The plan was dropped.|the old the new|before after|every no|small large",
    ),
    "de": (
        "Das Hafenamt|Jeder Kapitän|Die Nachtwache|Ein Besucher|Der Koch|Unser Nachbar|Die Bäckerin|Der Lehrer",
        "meldet|repariert|bemalt|zählt|bringt|verkauft|vergisst|sammelt",
        "die alten Netze|jede Laterne|ein hölzernes Boot|die übrigen Seile|den Schlüssel|zwei Karten|die Zettel|einen Korb",
        "vor dem Morgen|nach dem langen Winter|bei der oberen Brücke|mit großer Sorgfalt|im kleinen Hof|bis zum Abend",
        ", falls es trocken bleibt|Niemand glaubt, dass |Der Plan entfiel.|vor nach|alten neuen|oberen unteren|kleinen großen",
    ),
    "fr": (
        "Le port|Chaque marin|La garde|Un visiteur|Le cuisinier|Notre voisin|La boulangère|Le maître",
        "signale|répare|repeint|compte|apporte|vend|oublie|ramasse",
        "les vieux filets|une lanterne|un bateau en bois|les cordes neuves|la clé du hangar|deux cartes|les billets|un panier",
        "avant l'aube|après le long hiver|près du pont|avec grand soin|dans la petite cour|jusqu'au soir",
        ", sauf par temps de pluie|Personne ne croit que |Le projet fut abandonné.|avant après|vieux nouveaux|petite grande|avec sans",
    ),
    "es": (
        "El puerto|Cada marinero|La guardia|Un visitante|El cocinero|Nuestro vecino|La panadera|El maestro",
        "anuncia|repara|pinta|cuenta|trae|vende|olvida|recoge",
        "las redes viejas|una linterna|un barco de madera|las cuerdas nuevas|la llave|dos mapas|los billetes|una cesta",
        "antes del alba|después del invierno|cerca del puente|con gran cuidado|en el patio pequeño|hasta la tarde",
        ", salvo si llueve|Nadie cree que |El plan quedó anulado.|viejas nuevas|pequeño grande|con sin|cerca lejos",
    ),
    "it": (
        "Il porto|Ogni marinaio|La guardia|Un ospite|Il cuoco|Il nostro vicino|La fornaia|Il maestro",
        "segnala|ripara|dipinge|conta|porta|vende|dimentica|raccoglie",
        "le reti vecchie|una lanterna|una barca di legno|le corde nuove|la chiave|due mappe|i biglietti|un cesto",
        "prima dell'alba|dopo il lungo inverno|vicino al ponte|con grande cura|nel piccolo cortile|fino a sera",
        ", salvo quando piove|Nessuno crede che |Il piano fu lasciato.|prima dopo|vecchie nuove|piccolo ampio|con senza",
    ),
    "pt": (
        "O porto|Cada marinheiro|A guarda|Um visitante|O cozinheiro|O nosso vizinho|A padeira|O mestre",
        "anuncia|repara|pinta|conta|traz|vende|esquece|recolhe",
        "as redes velhas|uma lanterna|um barco de madeira|as cordas novas|a chave|dois mapas|os bilhetes|um cesto",
        "antes da aurora|depois do inverno|perto da ponte|com grande cuidado|no pequeno pátio|durante a tarde",
        ", salvo quando chove|Ninguém crê que |O plano foi deixado.|antes depois|velhas novas|pequeno grande|com sem",
    ),
    "nl": (
        "De haven|Elke schipper|De nachtwacht|Een bezoeker|De kok|Onze buurman|De bakker|De meester",
        "meldt|herstelt|schildert|telt|brengt|verkoopt|vergeet|verzamelt",
        "de oude netten|een lantaarn|een houten boot|de nieuwe touwen|de sleutel|twee kaarten|de briefjes|een mand",
        "voor zonsopgang|na de lange winter|bij de brug|met grote zorg|op de kleine plaats|tot de avond",
        ", behalve bij regen|Niemand gelooft dat |Het plan verviel.|voor na|oude nieuwe|met zonder|kleine grote",
    ),
    "ru": (
        "Портовая служба|Каждый капитан|Ночная стража|Один гость|Повар|Наш сосед|Пекарь|Учитель",
        "отмечает|чинит|красит|считает|приносит|продаёт|забывает|собирает",
        "старые сети|каждый фонарь|деревянную лодку|новые верёвки|ключ от сарая|две карты|билеты|корзину слив",
        "до рассвета|после долгой зимы|возле моста|с большой заботой|в малом дворе|под вечер",
        ", если нет дождя|Никто не верит, что |План отменён.|до после|старые новые|возле вдали|малом большом",
    ),
    "zh": (
        "港口办公室|每位船长|夜间守卫|一名访客|厨师|我们的邻居|面包师|老师",
        "报告|修理|粉刷|清点|带来|出售|忘记|收集",
        "旧渔网|每盏灯笼|木船|备用绳索|仓库钥匙|两张地图|车票|一篮李子",
        "在日出之前|在漫长冬天之后|在桥的附近|在小院子里|直到傍晚|在山的上面",
        "，下雨天除外|没有人相信：|计划已取消。|前 后|旧 新|小 大|上 下",
    ),
    "ja": (
        "港の事務所は|どの船長も|夜の見張りは|ある客は|料理人は|隣の人は|パン屋は|先生は",
        "報告する|修理する|塗る|数える|運ぶ|売る|忘れる|集める",
        "古い網を|灯籠を|木の船を|予備の縄を|倉庫の鍵を|二枚の地図を|切符を|籠の梅を",
        "日の出の前に|長い冬の後に|上の橋の近くで|小さい庭で|夕方まで|丁寧に",
        "、雨の日を除く|次のことは疑わしい：|計画は中止。|前 後|古い 新しい|上 下|小さい 大きい",
    ),
}
TIGHT = ("zh", "ja")
CONFUSED = (("rn", "m"), ("1", "l"), ("0", "o"), ("c", "e"), ("n", "u"), ("l", "i"))
SIGNS = ("10⁶|106", "☑|☐", "–5|5", "↑|↓", "5×3|5÷3", "(500)|500", "A+|A", "12 %|12 ‰", "≤ 7|≥ 7", "½|12")
_ARABIC = {ord("0") + digit: chr(0x660 + digit) for digit in range(10)}
CODES = ("K7B2|K7D2", "v2.4|v2.5", "utf16|utf32", "2031-04-05|2031-05-04", "07:15|07:51", "max_row|max_col")


class Labelled(NamedTuple):
    """Two texts; `left_may_go` and `right_may_go` say whether each may go for the other one.

    Of a kind in LESS that is asked of removals that let documents go that say less.
    """

    language: str
    genre: str
    kind: str
    left: str
    right: str
    left_may_go: bool
    right_may_go: bool


class Writer:
    """Writes texts of one language."""

    def __init__(self, language: str, seed: int) -> None:
        self.language, self.draw = language, random.Random(f"{language} {seed}")
        *parts, more = LANGUAGES[language]
        self.parts = [part.split("|") for part in parts]
        self.limit, self.doubt, self.notice, *pairs = more.split("|")
        self.pairs = [tuple(pair.split(" ")) for pair in pairs if pair.count(" ") == 1]
        self.stop = "。" if language in TIGHT else "."

    def words(self) -> str:
        """A sentence without its stop."""
        who, does, what, when = map(self.draw.choice, self.parts)
        number = self.draw.randrange(3, 90)
        if self.language == "ja":
            return f"{who}{number}回{when}{what}{does}"
        gap = "" if self.language == "zh" else " "
        return (
            f"{who}{gap}{does}{gap}{what}{gap}{when}{gap}({number})"
            if number % 3
            else f"{who}{gap}{does}{gap}{what}{gap}{when}"
        )

    def sentence(self) -> str:
        """A sentence."""
        return self.words() + self.stop

    def article(self, size: int) -> str:
        """Paragraphs of three sentences."""
        return "\n\n".join(" ".join(self.sentence() for _ in range(3)) for _ in range(max(1, size // 3)))

    def items(self, size: int) -> str:
        """A numbered list."""
        return "\n".join(f"{number}. {self.words()}" for number in range(1, size + 1))

    def table(self, size: int) -> str:
        """Rows of cells."""
        return "\n".join(
            f"{self.words()}\t{self.draw.randrange(10, 99)}\t{self.draw.randrange(100, 999)}" for _ in range(size)
        )

    def questions(self, size: int) -> str:
        """Questions with an answer each."""
        return "\n".join(f"{self.words()}? {self.draw.choice('☑☐')}" for _ in range(size))

    def form(self, size: int) -> str:
        """Labels with a value each."""
        return "\n".join(f"{self.words()}: {self.draw.randrange(100, 9999)}" for _ in range(size))

    def verse(self, size: int) -> str:
        """Lines without stops."""
        return "\n".join(self.words() for _ in range(size))

    def code(self, size: int) -> str:
        """Statements."""
        names = [f"{self.draw.choice('abcdef')}_{self.draw.randrange(10, 99)}" for _ in range(size + 1)]
        return "\n".join(
            f"{one} = {other} + {self.draw.randrange(9)}; // {self.words()}" for one, other in pairwise(names)
        )

    def title(self, size: int) -> str:
        """A text of one sentence."""
        del size
        return self.words()


GENRES: dict[str, Callable[[Writer, int], str]] = {
    "article": Writer.article, "list": Writer.items, "table": Writer.table, "questionnaire": Writer.questions,
    "form": Writer.form, "verse": Writer.verse, "code": Writer.code, "short": Writer.title,
}  # fmt: skip

Change = Callable[[Writer, str], "str | tuple[str, str] | None"]


def _replaced(writer: Writer, text: str, pattern: str, new: Callable[[re.Match[str]], str]) -> str | None:
    found = list(re.finditer(pattern, text))
    if not found:
        return None
    match = writer.draw.choice(found)
    return text[: match.start()] + new(match) + text[match.end() :]


def _word(writer: Writer, text: str) -> str | None:
    for one, other in writer.draw.sample(writer.pairs, len(writer.pairs)):
        edge = "" if writer.language in TIGHT else r"\b"
        if changed := _replaced(writer, text, f"{edge}{one}{edge}", lambda _, other=other: other):
            return changed
    return None


def _number(writer: Writer, text: str) -> str | None:
    return _replaced(writer, text, r"\d+", lambda match: str(int(match[0]) + writer.draw.choice((1, 9, 100))))


def _clause(writer: Writer, text: str) -> str | None:
    return _replaced(writer, text, r"(?<=[^\W\d_])(?=[.。?:]?(\n|$))", lambda _: writer.limit)


def _prefix(writer: Writer, text: str) -> str | None:
    return _replaced(writer, text, r"(?m)^(?=[^\W\d_])", lambda _: writer.doubt)


def _swap(writer: Writer, text: str) -> tuple[str, str]:
    one, other = writer.words(), writer.words()
    return f"{text}\n\n{one}: 410\n{other}: 730", f"{text}\n\n{one}: 730\n{other}: 410"


def _sign(writer: Writer, text: str) -> tuple[str, str]:
    one, other = writer.draw.choice(SIGNS).split("|")
    who = writer.draw.choice(writer.parts[0])
    return f"{text}\n{who}: {one} !", f"{text}\n{who}: {other} !"


def _code(writer: Writer, text: str) -> tuple[str, str]:
    one, other = writer.draw.choice(CODES).split("|")
    return f"{text}\n\n{one}", f"{text}\n\n{other}"


def _parted(writer: Writer, text: str) -> tuple[str, str]:
    """The same digits in a row, as two other numbers."""
    one, gap = f"{writer.draw.randrange(1000, 10_000)}", writer.draw.choice((" ", "\t", "\n"))
    who = writer.draw.choice(writer.parts[0])
    return tuple(f"{text}\n{who}: {one[:cut]}{gap}{one[cut:]} !" for cut in (1, 2))  # type: ignore[return-value]


def _thousands(writer: Writer, text: str) -> tuple[str, str]:
    """A number with other marks of thousands, and in other digits."""
    number = writer.draw.randrange(10_000, 10_000_000)
    who = writer.draw.choice(writer.parts[0])
    written = f"{number:,}", f"{number:,}".replace(",", " "), str(number), str(number).translate(_ARABIC)
    one, other = writer.draw.sample(written, 2)
    return f"{text}\n{who}: {one} !", f"{text}\n{who}: {other} !"


def _rows(writer: Writer, text: str) -> str | None:
    lines = text.split("\n")
    full = [place for place, line in enumerate(lines) if line.strip()]
    if len(full) < 3 or lines[full[0]] == lines[full[-1]]:
        return None
    lines[full[0]], lines[full[-1]] = lines[full[-1]], lines[full[0]]
    return "\n".join(lines)


def _space(writer: Writer, text: str) -> str | None:
    return _replaced(writer, text, r"(?<=[^\W\d_]{2}) (?=[^\W\d_]{2})", lambda _: "")


def _notice(writer: Writer, text: str) -> str:
    return f"{text}\n\n{writer.notice}"


def _dropped(writer: Writer, text: str) -> str | None:
    lines = text.split("\n")
    full = [place for place, line in enumerate(lines) if line.strip()]
    if len(full) < 4:
        return None
    place = writer.draw.choice(full[1:-1])
    return "\n".join(lines[:place] + lines[place + 1 :])


def _wrapped(writer: Writer, text: str) -> str | None:
    if writer.language in TIGHT or "\t" in text or "\n\n" not in text:
        return None
    return "\n\n".join(textwrap.fill(part, 60) for part in text.split("\n\n"))


def _line_lost(writer: Writer, text: str) -> tuple[str, str] | None:
    """A line lost in the middle of a sentence, which says something else without it."""
    wrapped = _wrapped(writer, text)
    lines = wrapped.split("\n") if wrapped else []
    inside = [place for place in range(1, len(lines) - 1) if all(lines[place - 1 : place + 2])]
    if not wrapped or not inside:
        return None
    place = writer.draw.choice(inside)
    rest = "\n".join(lines[:place] + lines[place + 1 :])
    before, left = ({" ".join(each.split()) for each in said.split(writer.stop)} for said in (wrapped, rest))
    return None if left <= before else (wrapped, rest)


def _typeset(writer: Writer, text: str) -> str:
    del writer
    text = text.replace("'", "\u2019").replace("fi", "\ufb01")
    return re.sub(r"(?m)^(.{8,}?)(?= )", "\u201c\\1\u201d", text, count=1)


def _broken(writer: Writer, text: str) -> str | None:
    found = re.search(r"(?<=[^\W\d_]{4})(?=[^\W\d_]{3})", text)
    if writer.language in TIGHT or not found:
        return None
    return f"{text[: found.start()]}-\n{text[found.start() :]}"


def _bulleted(writer: Writer, text: str) -> str:
    del writer
    return "\n".join(f"\u2022 {line}" if line.strip() else line for line in text.split("\n"))


def _misread(writer: Writer, text: str) -> str | None:
    made = text
    for seen, letter in writer.draw.sample(CONFUSED, 3):
        word = re.search(rf"\b[a-z]{{2,}}{letter}[a-z]+\b", made)
        if word:
            wrong = word[0][0] + word[0][1:].replace(letter, seen, 1)
            made = f"{made[: word.start()]}{wrong}{made[word.end() :]}"
    return made if made != text else None


def _slipped(writer: Writer, text: str) -> str | None:
    """Two letters that changed places within a word."""
    if writer.language in TIGHT:
        return None
    return _replaced(
        writer, text, r"\b[^\W\d_A-Z]{7,}\b", lambda match: match[0][:3] + match[0][4] + match[0][3] + match[0][5:]
    )


# What each change lets go: the left text and the right one.
KINDS: dict[str, tuple[Change, bool, bool]] = {
    "word": (_word, False, False), "number": (_number, False, False), "clause": (_clause, False, False),
    "prefix": (_prefix, False, False), "swap": (_swap, False, False), "sign": (_sign, False, False),
    "code": (_code, False, False), "parted": (_parted, False, False), "rows": (_rows, False, False), "space": (_space, False, False),
    "notice": (_notice, False, False), "dropped": (_dropped, False, False), "line lost": (_line_lost, False, False),
    "wrapped": (_wrapped, True, True), "typeset": (_typeset, True, True), "broken": (_broken, True, True),
    "bulleted": (_bulleted, True, True), "thousands": (_thousands, True, True), "misread": (_misread, False, True),
    "slip": (_slipped, False, True),
}  # fmt: skip


LESS = ("line lost",)


def labelled(per: int, sizes: tuple[int, ...] = (6, 24, 90)) -> Iterator[Labelled]:
    """Pairs of each language, genre and kind, so many of each."""
    for language in LANGUAGES:
        for genre, write in GENRES.items():
            for kind, (change, left_goes, right_goes) in KINDS.items():
                for number in range(per):
                    writer = Writer(language, number)
                    writer.draw.seed(f"{language} {genre} {kind} {number}")
                    text = write(writer, writer.draw.choice(sizes))
                    changed = change(writer, text)
                    left, right = changed if isinstance(changed, tuple) else (text, changed)
                    if right is not None and left != right:
                        yield Labelled(language, genre, kind, left, right, left_goes, right_goes)


def background(language: str, texts: int) -> Iterator[str]:
    """Other texts of a language, by which a collection knows its words."""
    for number in range(texts):
        yield Writer(language, 1000 + number).article(30)
