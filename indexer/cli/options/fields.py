"""Options of commands that read texts again."""

from __future__ import annotations

from indexer.cli.options.columns import column_options
from indexer.cli.options.groups import Group
from indexer.library.options import NamedFields

field_options = Group(NamedFields, column_options, title="Texts that are read again")
