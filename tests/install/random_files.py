"""Random settings in JSON with comments and in TOML, laid out in many ways.

Plain random numbers, not Hypothesis: a text is made of hundreds of choices, and that is slow.
"""

import json
from random import Random
from typing import Any

KEYS = ("mcpServers", "hooks", "mcp", "a", "b b", "ü", "model", 'q"', "PostToolUse")
OTHER_KEYS = ("a", "b b", "ü", "model")
SCALARS = (None, True, False, 0, -7, 1.5, "", "x", "// no", "/* no */", "}", 'q"\\', "ü")
BLANKS = ("", "", " ", "\n", "\n  ", "\n\t", "\r\n    ")
COMMENTS = ("/* c */", "// c , } ]\n", "/* two c\n lines */", '// "c": 1\r\n')
NEWLINES = ("\n", "\n", "\r\n")


def some_value(random: Random, depth: int = 0) -> Any:
    kind = random.randrange(4 if depth < 3 else 2)
    if kind < 2:
        return random.choice(SCALARS)
    if kind == 2:
        return [some_value(random, depth + 1) for _ in range(random.randrange(3))]
    return some_object(random, KEYS, depth + 1)


def some_object(random: Random, keys: tuple[str, ...], depth: int = 0) -> dict[str, Any]:
    names = random.sample(keys, random.randrange(4))
    return {name: some_value(random, depth) for name in names}


def some_group(random: Random) -> dict[str, Any]:
    hooks = [{"type": "command", "command": "echo x"} for _ in range(random.randrange(3))]
    return {**({"matcher": "Bash"} if random.random() < 0.5 else {}), "hooks": hooks}


def some_settings(random: Random) -> dict[str, Any]:
    """Settings of an agent that may have servers and hooks of others."""
    settings = some_object(random, OTHER_KEYS)
    for name in ("mcpServers", "mcp"):
        if random.random() < 0.5:
            settings[name] = {key: some_object(random, KEYS) for key in random.sample("xyz", 2)}
    if random.random() < 0.5:
        events = random.sample(["PostToolUse", "SessionEnd", "AfterTool"], random.randrange(3))
        settings["hooks"] = {
            event: [some_group(random) for _ in range(random.randrange(3))] for event in events
        }
    names = list(settings)
    random.shuffle(names)
    return {name: settings[name] for name in names}


def as_written(random: Random, value: Any) -> str:
    """A value as a program writes it: on one line, without spaces, or indented."""
    indent = random.choice([None, None, 2, 4, "\t"])
    marks = (",", ":") if indent is None and random.random() < 0.5 else None
    text = json.dumps(value, indent=indent, separators=marks, ensure_ascii=False)
    text += random.choice(["", "\n"])
    return text.replace("\n", random.choice(NEWLINES))


def as_typed(random: Random, value: Any, *, hollow: bool = True) -> str:
    """A value as a person may type it: any white space, comments, commas at the end.

    ``hollow`` allows white space alone in empty objects and lists.
    """

    def trivia() -> str:
        if random.random() < 0.7:
            return random.choice(BLANKS)
        return random.choice(BLANKS) + random.choice(COMMENTS) + random.choice(BLANKS)

    def render(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=random.random() < 0.5)
        if isinstance(value, dict):
            parts = [
                f"{json.dumps(key)}{trivia()}:{trivia()}{render(one)}" for key, one in value.items()
            ]
        else:
            parts = [render(one) for one in value]
        inside = ",".join(f"{trivia()}{part}{trivia()}" for part in parts)
        if parts and random.random() < 0.3:
            inside += f",{trivia()}"
        if not parts:
            inside = trivia()
            inside = inside if hollow or inside.strip() else ""
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"

    return f"{trivia()}{render(value)}{trivia()}"


def some_json(random: Random, *, hollow: bool = True) -> str:
    settings = some_settings(random)
    if random.random() < 0.5:
        return as_written(random, settings)
    return as_typed(random, settings, hollow=hollow)


LINES = (
    "",
    "# a comment = [",
    "   # indented",
    '"quoted.key" = "a # b"  # c',
    "text = '''\n[mcp_servers.session-memory]\n'''",
    'more = """\n# not a comment \\"""\n"""',
    "list = [ # first\n  'a]', # second\n  [1, 2],\n]",
    "inline = { a = 1, b = { c = ']' } }",
    "date = 1979-05-27T07:32:00Z",
    "dotted . 'k e y' = 1.5",
)
TABLES = (
    "[mcp_servers.other]",
    "[mcp_servers.other.env]",
    "[ features ]  # mine",
    "[[profiles]]",
    '[projects."/home/x y"]',
    "[mcp_servers]",
)


def some_toml(random: Random) -> str:
    """A valid text; each key and each table is in it once."""
    lines = random.sample(LINES, random.randrange(4))
    for header in random.sample(TABLES, random.randrange(5)):
        lines += [header, *random.sample(LINES, random.randrange(4))]
    text = "\n".join(lines) + random.choice(["", "\n", "\n\n", "\n# end"])
    return text.replace("\n", random.choice(NEWLINES))
