"""`cutepy completion`: a script that makes a shell complete commands, options and the values that an option has.

Everything is read off the parser's own help, so a new command or option needs no line here.
"""

from __future__ import annotations

import re
from argparse import Namespace

from .main import Parser, parser

_BASH = """\
_cutepy() {{
  local words="{commands}" current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" files=
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "${{COMP_WORDS[1]}} $before" in
{values}
      *) files=1; case "${{COMP_WORDS[1]}}" in
{options}
        *) words="" ;;
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "$files" ] && [ "${{current#-}}" = "$current" ]; then
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _cutepy cutepy
"""


def run_completion(options: Namespace) -> None:
    """Write the script of a shell."""
    found = {name: _options(command) for name, command in parser().own.items()}
    print(_fish(found) if options.shell == "fish" else _bash(found, options.shell), end="")


def _options(command: Parser) -> dict[str, list[str]]:
    """The options of a command, and what each can be."""
    text = command.format_help()
    found: dict[str, list[str]] = {name: [] for name in re.findall(r"--[a-z][a-z-]*", text)}
    for name, values in re.findall(r"(--[a-z][a-z-]*) \{([^}]*)\}", text):
        found[name] = values.split(",")
    positional = re.search(r"^  \{([^}]*)\}", text, re.MULTILINE)
    return found | ({"": positional[1].split(",")} if positional else {})


def _bash(found: dict[str, dict[str, list[str]]], shell: str) -> str:
    values = [
        f'      "{command} {option}") words="{" ".join(choices)}" ;;'
        for command, options in found.items()
        for option, choices in options.items()
        if option and choices
    ]
    words = {command: [*options, *options.get("", ())] for command, options in found.items()}
    options = [f'        {command}) words="{" ".join(filter(None, all_))}" ;;' for command, all_ in words.items()]
    start = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return start + _BASH.format(commands=" ".join(found), values="\n".join(values), options="\n".join(options))


def _fish(found: dict[str, dict[str, list[str]]]) -> str:
    lines = [f'complete -c cutepy -n __fish_use_subcommand -f -a "{" ".join(found)}"']
    for command, options in found.items():
        inside = f'complete -c cutepy -n "__fish_seen_subcommand_from {command}"'
        for option, choices in options.items():
            long = f" -l {option[2:]}" if option else ""
            lines.append(f"{inside}{long}" + (f' -x -a "{" ".join(choices)}"' if choices else ""))
    return "\n".join(lines) + "\n"
