"""Made-up headlines and products in several languages, their edits, and twins that say something else."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
NEGATED = {"en": "not", "fr": "pas", "es": "no", "de": "nicht", "zh": "不"}

# Nouns, verbs, adjectives and words between them, as headlines have them; in German nouns have a capital.
_WORDS: Mapping[str, tuple[str, str, str, str]] = {
    "en": (
        "court minister school bridge river budget hospital teacher "
        "factory market village storm forest museum airport "
        "engine union farmer theatre harbour painter railway "
        "border council election engineer holiday insurance judge "
        "kitchen language medicine neighbour officer passenger suburb "
        "refugee scientist station student summit surgeon "
        "tenant tourist tribunal vaccine victim warehouse weather worker writer",
        "opens closes rejects approves demands delays announces defends destroys discovers examines forbids improves "
        "investigates launches predicts promises protects questions "
        "repairs replaces restores supports threatens visits",
        "ancient bitter central cheap cold dangerous empty famous foreign fresh gentle heavy hidden important local "
        "modern narrow official painful peaceful public quiet rural secret severe simple strange sudden useful young",
        "for after before with against near under the during about because while of in",
    ),
    "fr": (
        "tribunal ministre école pont rivière budget hôpital enseignant "
        "usine marché village tempête forêt musée moteur "
        "syndicat paysan théâtre peintre frontière conseil élection "
        "vacances assurance juge cuisine langue médicament "
        "voisin officier passager quartier réfugié savant gare étudiant sommet chirurgien locataire touriste vaccin "
        "victime entrepôt ouvrier écrivain boulanger chanteur jardin montagne",
        "ouvre ferme rejette approuve exige retarde annonce défend détruit découvre examine interdit améliore lance "
        "prévoit promet protège répare remplace restaure soutient menace visite prépare refuse",
        "ancien amer central froid dangereux vide célèbre étranger frais doux lourd caché important local moderne "
        "étroit officiel pénible paisible public tranquille rural secret sévère simple étrange soudain utile jeune",
        "pour après avant avec contre près sous la pendant sur de dans le",
    ),
    "es": (
        "tribunal ministro escuela puente río presupuesto maestro fábrica mercado pueblo tormenta bosque museo motor "
        "sindicato campesino teatro puerto pintor frontera consejo elección vacaciones seguro juez cocina lengua "
        "medicina vecino oficial pasajero barrio refugiado científico estación estudiante cumbre cirujano inquilino "
        "turista vacuna víctima almacén obrero escritor panadero cantante jardín montaña",
        "abre cierra rechaza aprueba exige retrasa anuncia defiende destruye descubre examina prohíbe mejora lanza "
        "prevé promete protege repara reemplaza restaura apoya amenaza visita prepara investiga",
        "antiguo amargo central frío peligroso vacío famoso extranjero fresco suave pesado oculto importante local "
        "moderno estrecho penoso tranquilo público rural secreto severo simple extraño repentino útil joven",
        "para después antes con contra cerca bajo la durante sobre de en el",
    ),
    "de": (
        "Gericht Minister Schule Brücke Fluss Haushalt Lehrer Fabrik Markt Dorf Sturm Wald Museum Motor Gewerkschaft "
        "Bauer Theater Hafen Maler Grenze Rat Wahl Urlaub Richter Küche Sprache Arznei Nachbar Fahrgast Viertel "
        "Forscher Bahnhof Student Gipfel Chirurg Mieter Impfstoff Opfer Lager Arbeiter Dichter Bäcker Sänger Garten",
        "öffnet schließt verwirft billigt fordert verzögert meldet verteidigt zerstört entdeckt prüft verbietet "
        "verbessert startet verspricht schützt repariert ersetzt stützt bedroht besucht plant",
        "alte bittere zentrale kalte gefährliche leere berühmte "
        "fremde frische sanfte schwere geheime wichtige lokale "
        "moderne enge amtliche friedliche ruhige ländliche strenge einfache seltsame nützliche junge",
        "für nach vor mit gegen bei unter der während über von in",
    ),
    "zh": (
        "法院 部长 学校 大桥 河流 预算 医院 老师 工厂 市场 村庄 "
        "风暴 森林 博物馆 机场 工会 农民 剧院 港口 画家 铁路 边境 "
        "选举 保险 法官 厨房 语言 药品 邻居 警官 乘客 难民 科学家 "
        "车站 学生 峰会 医生 租户 游客 疫苗 仓库 天气 工人 作家",
        "开放 关闭 拒绝 批准 要求 推迟 宣布 保护 摧毁 发现 检查 "
        "禁止 改善 调查 启动 预测 承诺 修理 更换 恢复 支持 威胁 访问",
        "古老 寒冷 危险 著名 外国 新鲜 沉重 隐藏 重要 当地 现代 "
        "狭窄 官方 和平 公共 安静 乡村 秘密 严重 简单 奇怪 突然 年轻",
        "为了 之后 之前 反对 附近 期间 关于 因为 而且 的 在",
    ),
}
LANGUAGES = tuple(_WORDS)


@dataclass(frozen=True)
class Title:
    """A title's words, and the kind of each: one of noun, verb, adjective, between, name and number."""

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    language: str

    @property
    def text(self) -> str:
        """The title as it is written: with a capital in front, in Chinese without spaces."""
        if self.language == "zh":
            return "".join(self.words)
        joined = " ".join(self.words)
        return joined[:1].upper() + joined[1:]


class Titles:
    """A maker of titles in one language."""

    def __init__(self, language: str, seed: int) -> None:
        self.draw, self.language = random.Random(f"{language} {seed}"), language
        nouns, verbs, adjectives, between = map(str.split, _WORDS[language])
        self._words = {"noun": nouns, "verb": verbs, "adjective": adjectives, "between": between}

    def made(self, count: int) -> Title:
        """A title of so many words, in about half of them with a name and in a third with a number."""
        kinds = [("noun", "verb", "adjective", "noun", "between")[(place + 1) % 5] for place in range(count)]
        kinds[0] = self.draw.choice(("noun", "adjective", "name"))
        for kind, share in (("name", 0.5), ("number", 0.35)):
            if self.draw.random() < share:
                kinds[self.draw.randrange(1, count)] = kind
        words = [self.word(kind) for kind in kinds]
        return Title(tuple(words), tuple(kinds), self.language)

    def word(self, kind: str, unlike: str = "") -> str:
        """A word of a kind, another one than is given."""
        while True:
            if kind == "number":
                word = str(self.draw.randint(2, 2000))
            elif kind == "name":
                word = self._chinese_name() if self.language == "zh" else self._name()
            else:
                word = self.draw.choice(self._words[kind])
            if word != unlike:
                return word

    def _name(self) -> str:
        letters = "".join(self.draw.choices(SYLLABLES, k=self.draw.choice((2, 3))))
        return letters.capitalize() + self.draw.choice("nrst")

    def _chinese_name(self) -> str:
        return "".join(self.draw.choices("王李张刘陈杨黄赵吴周徐孙马朱胡林郭何高罗", k=1)) + "".join(
            self.draw.choices("伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚", k=2)
        )

    # Edits: at least one word, and one in ten.

    def changed(self, title: Title, *, first: bool = False) -> Title:
        """Words are others of their kind, no name and no number; where `first` the first one alone."""
        places = [0] if first else self._ordinary(title)
        words = list(title.words)
        for place in places:
            words[place] = self.word(title.kinds[place], words[place])
        return Title(tuple(words), title.kinds, self.language)

    def cut(self, title: Title) -> Title:
        """Words are left out, no name and no number."""
        gone = {*self._ordinary(title)}
        kept = [place for place in range(len(title.words)) if place not in gone]
        words, kinds = (tuple(each[place] for place in kept) for each in (title.words, title.kinds))
        return Title(words, kinds, self.language)

    def swapped(self, title: Title) -> Title:
        """A word has changed places with the next one."""
        words, kinds = list(title.words), list(title.kinds)
        for _ in range(max(1, len(words) // 10)):
            place = self.draw.randrange(len(words) - 1)
            for both in (words, kinds):
                both[place], both[place + 1] = both[place + 1], both[place]
        return Title(tuple(words), tuple(kinds), self.language)

    def misspelt(self, title: Title) -> Title:
        """A letter is left out of words, is another one, or has changed places with the next one."""
        words = list(title.words)
        letters = "".join(self._words["noun"])
        for place in self._ordinary(title, 2 if self.language == "zh" else 4):
            word = words[place]
            at = self.draw.randrange(1, len(word)) if len(word) > 1 else 0
            way = self.draw.randrange(3)
            if way == 0:
                word = word[:at] + word[at + 1 :]
            elif way == 1 or at + 1 >= len(word):
                word = word[:at] + self.draw.choice(letters) + word[at + 1 :]
            else:
                word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            words[place] = word or "x"
        return Title(tuple(words), title.kinds, self.language)

    def _ordinary(self, title: Title, letters: int = 1) -> Sequence[int]:
        there = [
            place
            for place, kind in enumerate(title.kinds)
            if place and kind not in ("name", "number") and len(title.words[place]) >= letters
        ]
        return self.draw.sample(there, min(len(there), max(1, round(len(title.words) / 10))))

    # Twins

    def twin(self, title: Title, kind: str) -> Title:
        """The same with another number, name, size, or a negation; one without gets it behind its first word."""
        words, kinds = list(title.words), list(title.kinds)
        if kind == "negation":
            words.insert(2, NEGATED[self.language])
            kinds.insert(2, "between")
        else:
            place = next((place for place, one in enumerate(kinds) if place and one == kind), 0)
            words[place] = self.word(kind, words[place])
        return Title(tuple(words), tuple(kinds), self.language)


EDITS: Mapping[str, Callable[[Titles, Title], Title]] = {
    "changed": Titles.changed,
    "cut": Titles.cut,
    "swapped": Titles.swapped,
    "misspelt": Titles.misspelt,
}
TWINS = ("number", "name", "negation")

BRANDS = ("Zonda", "Mirella", "Kestrel", "Brava", "Tundra", "Ostrava", "Feldmark", "Lumina")
THINGS = ("running shoe", "cotton shirt", "wool jacket", "rain coat", "hiking boot", "leather belt", "summer dress")
COLOURS = ("black", "white", "blue", "green", "grey", "brown")


def product(draw: random.Random) -> tuple[str, str]:
    """A product, and the same in another size."""
    sizes = draw.choice((("S", "M", "L", "XL"), ("36", "38", "40", "42"), ("250 ml", "500 ml", "500 g", "1 kg")))
    one, other = draw.sample(sizes, 2)
    model = "".join(draw.choices(SYLLABLES, k=3)).capitalize()
    head = f"{draw.choice(BRANDS)} {model} {draw.choice(THINGS)}, {draw.choice(COLOURS)}, "
    return f"{head}{one}", f"{head}{other}"
