"""All schemes with their figures, and those of a store."""

from __future__ import annotations

from indexer.errors import NeardupError
from indexer.library.outcomes import BrokenScheme, SchemeFigures, SchemeList
from indexer.schemes import registry
from indexer.text.corpus import Corpus, gather
from indexer.text.features import Recipe, parse_recipe

_SAMPLE_WORDS = 500


def list_schemes() -> SchemeList:
    """All available schemes, and broken ones of other packages with the reason."""
    listed: list[SchemeFigures] = []
    broken: list[BrokenScheme] = []
    for family in registry.families():
        try:
            listed.append(_figures(family))
        except (Exception, SystemExit) as error:
            if family in registry.FAMILIES:
                raise
            broken.append(BrokenScheme(family, str(error) if isinstance(error, NeardupError) else repr(error)))
    return SchemeList(tuple(listed), tuple(broken))


def recipe_of(name: str) -> Recipe:
    """The recipe of the features in the statistics of this name."""
    return parse_recipe(name.removeprefix("corpus."))


def _figures(family: str) -> SchemeFigures:
    corpora: list[str] = []

    def sample(name: str) -> Corpus:
        corpora.append(name)
        return _sample_corpus(name)

    made = registry.scheme(family, sample)
    sketch = made.sketch(_sample_text())
    shown = {name: value for name, value in sorted(made.parameters.items()) if not (corpora and name == "corpus")}
    return SchemeFigures(
        name=family,
        summary=made.summary,
        measure=made.measure,
        parameters={name: str(value).lower() if isinstance(value, bool) else value for name, value in shown.items()},
        tables=made.layout.tables,
        bytes=len(sketch.payload) if sketch else 0,
        keys=len(sketch.keys) if sketch else 0,
        agreeing=made.agreeing,
        similarity=round(made.default_similarity, 3),
        near_from=made.written(made.default_similarity) if made.unit == "bits" else f"{made.default_similarity:.3g}",
        corpus=corpora[0] if corpora else "",
    )


def _sample_text() -> str:
    words = (f"{['the', 'of', 'a', 'and', 'in', 'is'][n % 6]} word{n * 7919 % 997}" for n in range(_SAMPLE_WORDS // 2))
    return " ".join(words).replace("0", "o").replace("1", "i")


def _sample_corpus(name: str) -> Corpus:
    text = _sample_text().split()
    return gather([" ".join(text[start::7]) for start in range(7)] + [_sample_text()], recipe_of(name))
