"""The shell's completion of the command."""

from __future__ import annotations

from typing import Literal, get_args

import click
from click.shell_completion import get_completion_class

Shell = Literal["bash", "zsh", "fish"]


@click.command(
    name="completion",
    short_help="Print a completion script for a shell.",
    epilog="""
\b
Examples:
  neardup completion bash > ~/.local/share/bash-completion/completions/neardup
  neardup completion zsh > "${fpath[1]}/_neardup"
  neardup completion fish > ~/.config/fish/completions/neardup.fish
""",
)
@click.argument("shell", type=click.Choice(get_args(Shell)))
@click.pass_context
def completion_command(ctx: click.Context, shell: Shell) -> None:
    """Print the script that teaches a shell to complete neardup's commands and options."""
    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 - the choices above are click's own shells
    click.echo(script(ctx.find_root().command, {}, "neardup", "_NEARDUP_COMPLETE").source())


COMMANDS = (completion_command,)
