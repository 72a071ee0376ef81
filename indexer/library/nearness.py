"""Nearness in a collection: lookups, pairs, common passages, and two documents beside each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.errors import NotFoundError, UsageError
from indexer.library import asking
from indexer.library.options import Extraction, NamedColumns
from indexer.library.program_documents import columns_of
from indexer.library.records import Match, Pair, RestingCluster, RulePlan, Similar, Uncompared, Unread, resting_rows
from indexer.library.results import match_of, pair_of, plan_of, similar_of, unread_of
from indexer.library.rows import Rows
from indexer.library.stores import OpenStore, Progress
from indexer.matching.shorthand import AnyRule
from indexer.model import MOST_ORIGINS, Ref, name_of
from indexer.model.copied import CopiedRow
from indexer.model.origins import origin_of
from indexer.model.own_files import AnyPath
from indexer.text.hiding import shown_name

if TYPE_CHECKING:
    from indexer.clustering.common_passages import RepeatedPassage, StorePassages
    from indexer.library.comparisons import Comparison, TextDifference
    from indexer.library.repetition import CopiedWords, PartlyCopied, Passage, Repetition
    from indexer.matching.measures.reading import Reader
    from indexer.matching.nodes import Nodes
    from indexer.matching.question import Question
    from indexer.matching.relating import RelatedPair, Relating
    from indexer.matching.rule import MatchRule
    from indexer.stores.base import Store


class Nearness(OpenStore):
    """The near documents of a collection."""

    def plan(self, match: AnyRule = None) -> RulePlan:
        """The plan of a rule: its lookups, with their guarantee. Raises UsageError."""
        with self._lock:
            return plan_of(self.rule(match))

    def similar(  # noqa: PLR0913 - they are options of the command
        self,
        text: AnyPath | None = None,
        *,
        path: AnyPath | None = None,
        id: str | None = None,  # noqa: A002
        match: AnyRule = None,
        limit: int | None = 10,
        at_least: float | None = None,
        include_short: bool = False,
        passages: bool = False,
        relation: Relating = False,
    ) -> Rows[Match]:
        """The documents near a text, a file (a Path, or `path`) or a stored document (`id`), the most similar first.

        `limit` is the maximum number, None for all. `at_least` (0 to 1) replaces the rule's thresholds: below the
        rule's own every stored sketch is compared, and 0 returns the nearest documents, however distant (by a rule that
        reads texts, the nearest with common keys). Short documents are left out unless `include_short`. With `passages`
        texts are read again, and each match has the passages in common. With `relation` they are read for the relation
        of the question to each near one, with "at hand" only in fields of an index, or in files of at most 2 MB. Raises
        UsageError, NotFoundError and ExtractionError.
        """
        from indexer.matching.asking import Answered, added_by
        from indexer.matching.lookups import lookup

        if sum(given is not None for given in (text, path, id)) != 1:
            raise UsageError("ask about one thing: a text, path=, or id=")
        with self._lock:
            rule = self.rule(match)
            question = self._question(text, path, id)
            answer = lookup(
                self.store, rule, question, limit=limit, at_least=at_least, include_short=include_short,
                exclude=question.ref,
            )  # fmt: skip
            if added := added_by(self.store, rule, passages=passages, relation=relation):
                answer = added.added_to(answer, question)
        return similar_of(Answered(question, answer), rule).matches

    def similar_each(  # noqa: PLR0913 - they are options of the command
        self,
        asked: Any,
        *,
        by: asking.AskedBy = "documents",
        fields: Mapping[str, str] | NamedColumns | None = None,
        extraction: Extraction | None = None,
        match: AnyRule = None,
        limit: int | None = 10,
        at_least: float | None = None,
        include_short: bool = False,
        verify_in_engine: bool = False,
        current: bool = False,
        explain: bool = False,
        passages: bool = False,
        relation: Relating = False,
        parts: bool = False,
    ) -> Iterator[Similar]:
        """Yield the answer of `similar` for each of many documents, in order; in an engine 50 are one request.

        `asked` are documents, as for `add_many`, with their `fields`. With `by` they are "paths" as for `index`, "ids"
        of stored documents, "hashes" (fingerprints), or "names" as for `neardup similar`: paths, "-" for standard
        input, and ids. A document is no answer to itself: the one with its id and source, or its path, is left out. An
        unreadable or unknown one has an `error`. With `explain` each has the `plan` of the rule; with `passages` each
        match has the passages in common, from texts read again; `relation` is as for `similar`; with `parts`, a
        document without near ones has the document with a part of it. `verify_in_engine` is for a rule of simhash-doc
        alone, and changes no answer. With `current` matches changed by their owner since the fingerprint are left out
        of an index, and counted. Memory: that of 50 documents. Raises UsageError.
        """
        from indexer.matching.asking import added_by, lookup_each

        with self._lock:
            rule = self.rule(match, hashes=by == "hashes")
            extraction = extraction or Extraction()
            columns = fields.columns(extraction) if isinstance(fields, NamedColumns) else columns_of(fields)
            how = asking.QuestionReader(self.store, extraction, columns, self._folder, self.workers)
            plan = plan_of(rule) if explain else None
            found = lookup_each(
                self.store, rule, how.questions(asked, by), limit=limit, at_least=at_least, include_short=include_short,
                inside=verify_in_engine, current=current,
                added=added_by(self.store, rule, passages=passages, relation=relation),
            )  # fmt: skip
            answers = ((each, similar_of(each, rule, plan)) for each in found)
        return self._turns(lambda: (self._with_part(*each) if parts else each[1] for each in answers), 1)

    def _with_part(self, answered: Any, similar: Similar) -> Similar:
        from indexer.matching.lookups import nearest_part

        if similar.error or similar.total or not similar.query.tokens:
            return similar
        part = nearest_part(self.store, answered.question, exclude=answered.question.ref)
        return (
            similar
            if part is None
            else replace(similar, part=match_of(part, answered.question.signs), part_rule=str(part.rule))
        )

    def _question(self, text: AnyPath | None, path: AnyPath | None, identity: str | None) -> Question:
        from indexer.matching.asking import Unanswered
        from indexer.matching.question import Question, stored_as

        if identity is not None:
            [question] = asking.stored(self.store, asking.names_of([identity]))
            if isinstance(question, Unanswered):
                raise question.error
            return question
        if isinstance(text, str):
            return Question(asking.THE_TEXT, text)
        [file] = asking.paths_of(path if text is None else text)  # type: ignore[arg-type]
        question = asking.from_file(file, Extraction(), self.store)
        return replace(question, name=file, ref=stored_as(self.store, file, self._folder))

    def compare(
        self, a: AnyPath, b: AnyPath, *, match: AnyRule = None, extraction: Extraction | None = None
    ) -> Comparison:
        """Two documents beside each other: files, or stored documents named by id ("id:ID" is always one).

        "-" is standard input. Raises UsageError, NotFoundError and ExtractionError.
        """
        from indexer.library.comparing import compare

        with self._lock:
            return compare(a, b, match=self.rule(match), extraction=extraction, store=self.store)

    def diff(
        self,
        a: AnyPath,
        b: AnyPath,
        *,
        context: int = 12,
        max_words: int = 100_000,
        extraction: Extraction | None = None,
    ) -> TextDifference:
        """The differing words of two documents, as for `compare`; files of stored ones are read again.

        `context` unchanged words are shown around each change. Only the first `max_words` of each are compared: the
        time grows with the square of them. Raises UsageError, NotFoundError and ExtractionError.
        """
        from indexer.library.comparing import diff

        with self._lock:
            return diff(
                a, b, context=context, max_words=max_words, extraction=extraction, store=self.store
            )  # fmt: skip

    def iter_pairs(
        self,
        *,
        match: AnyRule = None,
        collapse: bool = False,
        include_short: bool = False,
        against: AnyPath | None = None,
        relation: bool = False,
        threads: int | None = None,
    ) -> PairStream:
        """Every pair of documents near by the rule, as it is found; see `pairs`.

        The iterator's account of documents not compared is complete at its end.
        """
        from indexer.matching.measures.reading import reader_of
        from indexer.matching.pairing import pairs_of
        from indexer.matching.relating import RelatedPair, related_pairs

        if against is not None and collapse:
            raise UsageError("collapse is for the pairs of one store, and not against another")
        if against is not None and relation:
            raise UsageError("relation is for the pairs of one store, and not against another")
        with self._lock:
            rule = self.rule(match, hashes=against is not None and _is_list(against))
            self.tell_size(rule)
            reader = reader_of(self.store, rule)
            other = None if against is None else _other_nodes(self.store, rule, against, include_short=include_short)

        def found() -> Iterator[RelatedPair]:
            pairs = pairs_of(
                self.store, rule, against=other, collapse=collapse, include_short=include_short, threads=threads,
                reader=reader,
            )  # fmt: skip
            return related_pairs(self.store, pairs) if relation else (RelatedPair(pair) for pair in pairs)

        pairs = self._turns(found)
        return PairStream(self.store, rule, pairs, reader, other, include_short=include_short)

    def pairs(
        self,
        *,
        match: AnyRule = None,
        collapse: bool = False,
        include_short: bool = False,
        against: AnyPath | None = None,
        relation: bool = False,
        threads: int | None = None,
    ) -> Rows[Pair]:
        """Every pair of documents near by the rule, the most similar first.

        With `collapse`, documents with equal sketches are paired only with the first of them. With `against` the pairs
        are of a document of this collection and one of another store, or of a list of fingerprints as printed by
        `neardup hash --json`. Short documents are left out unless `include_short`. With `relation` the texts are read
        again for the relation of the left of each pair to the right. Memory grows with the number of pairs;
        `iter_pairs` avoids it.
        """
        iterated = self.iter_pairs(
            match=match, collapse=collapse, include_short=include_short, against=against, relation=relation,
            threads=threads,
        )  # fmt: skip
        return Rows(Pair, sorted(iterated, key=lambda pair: (-pair.similarity, pair.left, pair.right)))

    def passages(
        self, *, words: int = 50, held_by: bool = False, write: bool = False, progress: Progress | None = None
    ) -> Repetition:
        """Every passage of at least `words` words (8 or more) in two documents or more.

        All documents are read again from their sources; with `held_by` each passage names all its documents. Memory
        grows with the passages and the number of documents; a temporary folder takes twice the size of the texts. With
        `write` all of it is kept beside the index, for dashboards, replacing earlier results. Raises UsageError for
        fewer words, and for a store without dashboards.
        """
        from indexer.clustering.common_passages import StorePassages, clusters_on_passages
        from indexer.library import repetition

        with self._lock, StorePassages(self.store, words) as found:
            keep = self.store.keeper_of_copied() if write else None
            found.read(progress)
            counts, inside = found.in_passages
            common = tuple(found.common())
            made = repetition.Repetition(
                words, len(found.holders), int(counts.sum()), int(inside.sum()), unread_of(found.unread),
                Rows(repetition.Passage, _passages(found, common, held_by=held_by)),
                Rows(repetition.CopiedWords, _copied(found)),
                Rows(repetition.PartlyCopied, _partly_copied(found)),
                Rows(RestingCluster, resting_rows(clusters_on_passages(found, self._clustered()))),
            )  # fmt: skip
            if keep is None:
                return made
            return replace(made, written=keep(_kept(made, found, common)))

    def _clustered(self) -> Iterator[tuple[str, tuple[Ref, ...]]]:
        from indexer.clustering.annotations import stored_clusters

        return ((one.id, one.members) for one in stored_clusters(self.store, least=2))


class PairStream(Iterator[Pair]):
    """An iterator over pairs by the match rule `rule`; `count` have come so far.

    `lacking` documents of the other collection, if there is one, have no sketch for the rule.
    """

    def __init__(
        self, store: Store, rule: MatchRule, pairs: Iterator[RelatedPair], reader: Reader | None, other: Nodes | None,
        *, include_short: bool,
    ) -> None:  # fmt: skip
        self.rule, self.lacking, self.count = rule, other.lacking if other else 0, 0
        self._store, self._pairs, self._reader, self._include_short = store, pairs, reader, include_short

    def __next__(self) -> Pair:
        pair = pair_of(next(self._pairs), self.rule)
        self.count += 1
        return pair

    @property
    def unread(self) -> tuple[Unread, ...]:
        """The documents that could not be read, so far."""
        return unread_of(self._reader.unread if self._reader else {})

    def uncompared(self) -> Uncompared:
        """The numbers of documents that no pair can have."""
        from indexer.ingest.left_out import DUPLICATE, MARKED_DUPLICATE

        stats = self._store.stats()
        refused = sum(stats.failures[reason] for reason in {*stats.failures} - {DUPLICATE, MARKED_DUPLICATE})
        lacking = self.rule.lacking(self._store.lacking(list(self.rule.schemes)))
        return Uncompared(stats.empty, 0 if self._include_short else stats.short, refused, lacking)


def _is_list(name: str | os.PathLike[str]) -> bool:
    from indexer.matching.lists import is_store

    return not is_store(os.fspath(name))


def _other_nodes(store: Store, rule: MatchRule, against: str | os.PathLike[str], *, include_short: bool) -> Nodes:
    """The documents of another store or of a list, to compare with those of `store`.

    Raises NotFoundError for neither.
    """
    from indexer.library.opening import open_store
    from indexer.matching.lists import read_list, read_store

    name = os.fspath(against)
    if _is_list(name):
        if not os.path.exists(name):
            raise NotFoundError(f"{shown_name(name)}: no such file or store")
        return read_list(Path(name), rule)
    with open_store(name, read_only=True) as other:
        return read_store(other, store, rule, name=shown_name(name), include_short=include_short)


def _passages(found: StorePassages, common: Iterable[RepeatedPassage], *, held_by: bool) -> Iterator[Passage]:
    from indexer.library.repetition import Passage

    names = [name_of(holder.ref) for holder in found.holders]
    for each in common:
        holders = dict.fromkeys(names[document] for document in each.holders.tolist()) if held_by else ()
        yield Passage(
            each.text, each.words, each.documents, each.origins, each.is_boilerplate, names[each.first],
            found.holders[each.first].arrived_at, each.longest, each.variants, tuple(holders),
        )  # fmt: skip


def _copied(found: StorePassages) -> list[CopiedWords]:
    from indexer.library.repetition import CopiedWords

    names, _ = found.origins
    columns = (each.tolist() for each in found.copied())
    made = [CopiedWords(names[origin], names[by], words) for origin, by, words in zip(*columns, strict=True)]
    return sorted(made, key=lambda row: (-row.words, row.origin, row.by))


def _partly_copied(found: StorePassages) -> list[PartlyCopied]:
    from indexer.library.repetition import PartlyCopied

    counts, inside = (each.tolist() for each in found.in_passages)
    made = [
        PartlyCopied(name_of(holder.ref), holder.source, words, some, round(some / words, 6))
        for holder, words, some in zip(found.holders, counts, inside, strict=True)
        if some
    ]
    return sorted(made, key=lambda row: (-row.share, -row.words, row.id))


def _kept(made: Repetition, found: StorePassages, common: Iterable[RepeatedPassage]) -> Iterator[CopiedRow]:
    import numpy as np

    names, numbers = found.origins
    for each in common:
        first = found.holders[each.first]
        yield CopiedRow(
            "passage", each.text, first.ref,
            {"text": each.text, "source": first.source, "first_indexed_at": first.arrived_at},
            {"words": each.words, "documents": each.documents, "origins": each.origins, "longest": each.longest,
             "variants": each.variants, "boilerplate": each.is_boilerplate},
            tuple(sorted({names[number] for number in numbers[each.holders].tolist()})[:MOST_ORIGINS]),
        )  # fmt: skip
    holders = {name_of(holder.ref): holder for holder in found.holders}
    for part in made.partly_copied:
        holder = holders[part.id]
        yield CopiedRow(
            "document", part.id, holder.ref, {"source": part.source, "first_indexed_at": holder.arrived_at},
            {"words": part.words, "in_passages": part.in_passages, "share": part.share}, (origin_of(part.source),),
        )  # fmt: skip
    for pair in made.copied:
        ways = {"first_in": pair.origin, "then_in": pair.by}
        yield CopiedRow("origins", "\0".join(ways.values()), None, ways, {"words": pair.words}, tuple(ways.values()))
    # Of a place with a number, how many documents and words it has, and words in passages.
    totals = (np.bincount(numbers, each).tolist() for each in (np.ones(len(numbers)), *found.in_passages))
    for name, documents, words, inside in zip(names, *totals, strict=True):
        counts = {"documents": int(documents), "words": int(words), "in_passages": int(inside)}
        yield CopiedRow("origin", name, None, {}, counts, (name,))
