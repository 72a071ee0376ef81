"""`neardup ocr` and `neardup completion`: what is about this machine."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import click
from click.shell_completion import get_completion_class

from indexer.cli.options.commands import command
from indexer.cli.options.shared import JsonAsked
from indexer.cli.terminal.output import answer_json, fields, size
from indexer.model.declared import Option
from indexer.text.counts import counted


@command("recognition:OcrState", short_help="Show what OCR needs, and the results kept.")
def ocr(
    *,
    clear: Annotated[bool, Option("Remove the kept results.", typed=True)],
    json: JsonAsked,
) -> None:  # fmt: skip
    """Show which tesseract reads scanned pages, in which languages, and how much of what it read is kept.

    Examples:
      neardup ocr
      neardup ocr --clear
      neardup index scans/ --ocr eng+deu --kind scans
    """
    from indexer.library.recognition import ocr_state

    state = ocr_state(clear=clear)
    if json:
        answer_json(state)
        return
    fields(
        [
            ("tesseract", state.version or f"not installed; OCR needs {state.needs}"),
            ("Pillow", "" if state.pillow else f"not installed; OCR needs {state.needs}"),
            ("languages", ", ".join(state.languages)),
            ("removed", counted(state.removed, "document") if clear else ""),
            (
                "kept",
                f"{counted(state.documents, 'document')}, {size(state.bytes)} of at most {size(state.most_bytes)}",
            ),
            ("folder", state.folder),
        ]
    )


Shell = Literal["bash", "zsh", "fish"]


@command(name="completion", short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(get_args(Shell)))
@click.pass_context
def completion_command(ctx: click.Context, shell: Shell) -> None:
    """Print the script that teaches a shell to complete neardup's commands and options.

    Examples:
      neardup completion bash > ~/.local/share/bash-completion/completions/neardup
      neardup completion zsh > "${fpath[1]}/_neardup"
      neardup completion fish > ~/.config/fish/completions/neardup.fish
    """
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - the choices above are click's own shells
    click.echo(script(ctx.find_root().command, {}, "neardup", "_NEARDUP_COMPLETE").source())


COMMANDS = (ocr, completion_command)
