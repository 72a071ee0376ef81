"""--text-field, --id-field and --title-field of commands that read files with many documents."""

from __future__ import annotations

from indexer.cli.options.groups import Group
from indexer.library.options import NamedColumns

column_options = Group(NamedColumns, title="Fields of lines and rows")
