"""The migration from a set of keys for each document to one for each distinct sketch."""

from __future__ import annotations

import sqlite3

from indexer.stores.sqlite import cells
from indexer.stores.sqlite.sketches import digest_key, key_kind, read_schemes, scheme_number, sketch_digest

_DOCUMENTS = 10_000

_TABLES = (
    # What would take a scan to count.
    "CREATE TABLE counts (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO counts SELECT 'comparable', coalesce(sum(documents - short), 0) FROM hashes",
    # Of the documents that are neither short nor without words those with a sketch.
    "ALTER TABLE schemes ADD COLUMN comparable INTEGER NOT NULL DEFAULT 0",
    # As `hashes` for the first scheme: a million equal sketches are one row with one set of keys.
    """CREATE TABLE distinct_sketches (
        scheme INTEGER, number INTEGER, payload BLOB NOT NULL, keys BLOB NOT NULL, PRIMARY KEY (scheme, number))
        WITHOUT ROWID""",
    # No sketch: the scheme found no features.
    """CREATE TABLE document_sketches (
        scheme INTEGER, document INTEGER, features INTEGER NOT NULL, sketch INTEGER, PRIMARY KEY (scheme, document))
        WITHOUT ROWID""",
)
_INDEXES = (
    "CREATE INDEX documents_by_sketch ON document_sketches (scheme, sketch, document) WHERE sketch IS NOT NULL",
    "ALTER TABLE clusters ADD COLUMN least_similarity REAL NOT NULL DEFAULT 1",
    # Until then a radius was in bits of 64, or a dissimilarity in 64ths.
    "UPDATE clusters SET least_similarity = 1 - radius / 64.0",
)


def share_keys(connection: sqlite3.Connection) -> None:
    """Move sketches from `sketches` to the tables of distinct ones, each under the number of its first document.

    So the keys of a document whose sketch no earlier one has stay as they are.
    """
    connection.create_function("sketch_digest", 2, sketch_digest, deterministic=True)
    connection.create_function("digest_key", 1, digest_key, deterministic=True)
    for statement in _SHARING:
        connection.execute(statement)
    for scheme in read_schemes(connection):
        number, kind = scheme_number(connection, scheme.name), key_kind(scheme.layout)
        repeated = connection.execute(_REPEATED, (number,))
        while chunk := repeated.fetchmany(_DOCUMENTS):
            gone = [
                (number, key, document)
                for document, packed in chunk
                for key in cells.numbers(packed, kind, scheme.layout.end).tolist()
            ]
            for table in ("scheme_postings", "scheme_recent"):
                connection.executemany(
                    f"DELETE FROM {table} WHERE scheme = ? AND key = ? AND sketch = ?",  # noqa: S608 one of two names
                    sorted(gone),
                )
    connection.execute("DROP TABLE sketches")


_REPEATED = """
SELECT s.document, s.keys FROM sketches s JOIN document_sketches l ON l.scheme = s.scheme AND l.document = s.document
    WHERE s.scheme = ? AND l.sketch <> s.document
"""
_SHARING = (
    """CREATE TEMP TABLE firsts (
        scheme INTEGER, digest BLOB, number INTEGER, PRIMARY KEY (scheme, digest)) WITHOUT ROWID""",
    """INSERT INTO firsts SELECT scheme, sketch_digest(payload, keys), min(document) FROM sketches
        WHERE payload <> x'' GROUP BY 1, 2""",
    """INSERT INTO document_sketches SELECT s.scheme, s.document, s.features, f.number FROM sketches s
        LEFT JOIN firsts f ON f.scheme = s.scheme AND s.payload <> x'' AND f.digest = sketch_digest(s.payload, s.keys)
        ORDER BY s.scheme, s.document""",
    """INSERT INTO distinct_sketches SELECT s.scheme, s.document, s.payload, s.keys FROM sketches s
        JOIN document_sketches l ON l.scheme = s.scheme AND l.document = s.document WHERE l.sketch = s.document
        ORDER BY s.scheme, s.document""",
    "ALTER TABLE scheme_postings RENAME COLUMN document TO sketch",
    "ALTER TABLE scheme_recent RENAME COLUMN document TO sketch",
    "INSERT INTO scheme_postings SELECT scheme, digest_key(digest), number FROM firsts ORDER BY 1, 2, 3",
    """UPDATE schemes SET comparable = (SELECT count(*) FROM document_sketches l
        JOIN documents d ON d.number = l.document AND d.hash IS NOT NULL AND NOT d.short
        WHERE l.scheme = schemes.number)""",
    "DROP TABLE firsts",
)
DISTINCT_SKETCHES = (*_TABLES, share_keys, *_INDEXES)
