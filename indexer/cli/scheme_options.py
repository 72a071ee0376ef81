"""The options that name the schemes whose sketches a store keeps."""

from __future__ import annotations

import click

schemes_option = click.option(
    "--scheme",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Keep a sketch of each document by this scheme too; give it several times for several. The store remembers "
    "its schemes, and later runs keep to them. neardup schemes lists them.",
)
