"""`graymatter completion`: the script that teaches a shell to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from gm_engine.cli.session import PROGRAM, current, shared_options

_VARIABLE = f"_{PROGRAM.upper()}_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared_options
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    bash  source it in ~/.bashrc, or save it in ~/.local/share/bash-completion/completions/graymatter
    zsh   source it in ~/.zshrc
    fish  save it as ~/.config/fish/completions/graymatter.fish
    """
    made = get_completion_class(shell)
    if made is None:
        raise TypeError(f"no completion for {shell}")
    script = ShellComplete.source(made(context.find_root().command, {}, PROGRAM, _VARIABLE))
    current().answer({"shell": shell, "script": script}, [script.rstrip("\n")])
