"""The tables of an index in Postgres: one schema for each index, one set of tables for each generation."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

MAX_EXACT_CHUNKS = 5_000
"""Up to this many chunks, all vectors are compared: that takes milliseconds, and misses nothing."""
MAX_INDEXED_DIMENSIONS = 4_000
"""Longer vectors have no index in pgvector: all of them are compared."""
_PARTS = ("chunks", "vectors", "terms", "documents", "images", "words")

PREPARE = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.generations (
    number bigint PRIMARY KEY, is_complete boolean NOT NULL, manifest text NOT NULL, replaced_at timestamptz
);
CREATE TABLE IF NOT EXISTS {schema}.head (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), current bigint, last bigint NOT NULL
);
INSERT INTO {schema}.head (current, last) VALUES (NULL, 0) ON CONFLICT DO NOTHING;
"""
"""`last` is the highest number that was ever given: a number never means two generations."""

_CREATE = """
CREATE TABLE {chunks} (
    id integer PRIMARY KEY, payload json NOT NULL, url text NOT NULL, path text NOT NULL,
    sections text[] NOT NULL, chapters text[] NOT NULL, versions text[] NOT NULL, sentences bytea NOT NULL
);
CREATE TABLE {vectors} (id integer PRIMARY KEY, embedding vector({dimension}) NOT NULL);
CREATE TABLE {terms} (term bigint PRIMARY KEY, chunks bytea NOT NULL, weights bytea NOT NULL);
CREATE TABLE {documents} (
    position integer PRIMARY KEY, document_id text UNIQUE NOT NULL, entry json NOT NULL, text json NOT NULL,
    details json NOT NULL, html bytea NOT NULL
);
CREATE TABLE {images} (name text PRIMARY KEY, content bytea NOT NULL);
CREATE TABLE {words} (word text PRIMARY KEY, chunks integer NOT NULL);
ALTER TABLE {chunks} ALTER sentences SET STORAGE EXTERNAL;
ALTER TABLE {terms} ALTER chunks SET STORAGE EXTERNAL, ALTER weights SET STORAGE EXTERNAL;
"""
"""Vectors have a separate table, because a scan of narrow rows is several times faster."""

_INDEX_FILTERS = """
CREATE INDEX ON {chunks} (url COLLATE "C");
CREATE INDEX ON {chunks} (path COLLATE "C");
CREATE INDEX ON {chunks} USING gin (sections);
CREATE INDEX ON {chunks} USING gin (chapters);
CREATE INDEX ON {chunks} USING gin (versions);
ANALYZE {chunks};
ANALYZE {vectors};
ANALYZE {terms};
"""

_INDEX_VECTORS = """
CREATE INDEX ON {vectors} USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops)
WITH (m = 32, ef_construction = 256);
"""
"""Half precision halves the index; hits are scored by the full vectors."""


@dataclass(frozen=True, slots=True)
class GenerationTables:
    """The names of a generation's tables."""

    schema: str
    number: int

    def name(self, part: str) -> str:
        return f"{part}_{self.number:06d}"

    def create(self, dimension: int) -> sql.Composed:
        return self.statement(_CREATE, dimension=sql.Literal(dimension))

    def index_filters(self) -> sql.Composed:
        return self.statement(_INDEX_FILTERS)

    def index_vectors(self, dimension: int) -> sql.Composed:
        return self.statement(_INDEX_VECTORS, dimension=sql.Literal(dimension))

    def drop(self) -> sql.Composed:
        tables = sql.SQL(", ").join(sql.Identifier(self.schema, self.name(part)) for part in _PARTS)
        return sql.SQL("DROP TABLE IF EXISTS {}").format(tables)

    def renamed_to(self, number: int) -> list[sql.Composed]:
        """The statements that give these tables the number of another generation."""
        other = GenerationTables(self.schema, number)
        return [
            sql.SQL("ALTER TABLE {} RENAME TO {}").format(
                sql.Identifier(self.schema, self.name(part)), sql.Identifier(other.name(part))
            )
            for part in _PARTS
        ]

    def statement(self, template: str, **values: sql.Composable) -> sql.Composed:
        """SQL with the names of the tables in braces."""
        names = {part: sql.Identifier(self.schema, self.name(part)) for part in _PARTS}
        return sql.SQL(template).format(**names, **values)
