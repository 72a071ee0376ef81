"""Whatever became of a store's file: what is done with it works, or ends with the sentence that says what is wrong."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from indexer.errors import NeardupError
from indexer.library.opening import open_store
from indexer.stores import Store
from tests.stores.contract import INFO
from tests.stores.damage import DAMAGES, READS, WRITES, build, changed, tables

# How many files of each kind of damage are tried; thousands were, by hand.
SEEDS = int(os.environ.get("NEARDUP_DAMAGED_FILES", "10"))
SENTENCES = re.compile(
    r"x\.db: (the file is damaged or cut short\. Restore it|is not a store: it is not an SQLite file|the file is empty|"
    r"is an SQLite file of another program|was made by another version of neardup|holds triggers|"
    r"the disk is full|another program keeps|its fingerprints can't be compared|has no sketches of the scheme|"
    r"a scheme was removed since the store was opened; open it again\. If none was, the file is damaged)"
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without damage."""
    path = tmp_path_factory.mktemp("sound") / "sound.db"
    build(path)
    return path


def do(store: Store, operations: list[Callable[[Store], object]]) -> list[str]:
    """Do everything, and return the messages of errors; any other error fails the test."""
    messages = []
    for operation in operations:
        try:
            operation(store)
        except NeardupError as error:
            messages.append(str(error))
    return messages


def opened_and_done(path: Path, operations: list[Callable[[Store], object]], **options: object) -> list[str]:
    try:
        with open_store(path, wait=0.1, **options) as store:  # type: ignore[arg-type]
            return do(store, operations)
    except NeardupError as error:
        return [str(error)]


def test_all_works_in_a_sound_file(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    shutil.copy(sound, path)
    assert opened_and_done(path, [*READS, *WRITES], create=INFO) == []


@pytest.mark.parametrize("damage", dict.fromkeys(DAMAGES), ids=lambda damage: damage.__name__)
def test_damage_is_told(sound: Path, tmp_path: Path, damage: Callable[[Path, random.Random], None]) -> None:
    path = tmp_path / "x.db"
    heard = 0
    for seed in range(SEEDS):
        chance = random.Random(f"{damage.__name__} {seed}")
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        shutil.copy(sound, path)
        damage(path, chance)
        options = chance.choice([{}, {"read_only": True}, {"create": INFO}])
        operations = [*READS, *WRITES]
        chance.shuffle(operations)
        messages = opened_and_done(path, operations, **options)
        wrong = [text for text in messages if not SENTENCES.search(text) and "opened read-only" not in text]
        assert not wrong, (seed, wrong)
        heard += bool(messages)
    assert heard or damage.__name__ == "add_a_foreign_log"


def columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return [
            (table, row[1])
            for table in sorted(tables(connection))
            for row in connection.execute(f"PRAGMA table_info({table})")
        ]


WRONG = ("7", "'text'", "x'ff80'", "CAST(x'ff80' AS TEXT)")


def test_a_cell_of_any_type_in_any_column_is_told_or_read(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    harmless = set()
    for number, (table, column) in enumerate(columns(sound)):
        heard = 0
        # All of them take too long for every change: the others only where none of the first two was heard of.
        every = os.environ.get("NEARDUP_ALL")
        for place, value in enumerate((*WRONG[number % 2 :: 2], *WRONG[1 - number % 2 :: 2])):
            if place == len(WRONG) // 2 and heard and not every:
                break
            shutil.copy(sound, path)
            with changed(path) as connection, suppress(sqlite3.Error):
                # One row, not the first where there are others: what was given before it is right.
                there = f"FROM {table} WHERE {column} IS NOT NULL"
                where = f"{column} = (SELECT {column} {there} LIMIT 1 OFFSET (SELECT count(*) > 1 {there}))"
                connection.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}")
            messages = opened_and_done(path, list(READS), read_only=True)
            assert all(SENTENCES.search(text) for text in messages), (table, column, value, messages)
            heard += bool(messages)
        if not heard:
            harmless.add(f"{table}.{column}")
    # What a number, a key or the name of a resource leads to is not found, and nothing else is wrong with it; of
    # distinct sketches only those of the first scheme are shown.
    leading = ("number", "document", "sketch", "key", "digest_crc", "id_digest", "cluster", "sketches")
    assert {name for name in harmless if name.partition(".")[2] not in leading} == {"resources.name"}
    assert "equals_0.sketch" not in harmless
