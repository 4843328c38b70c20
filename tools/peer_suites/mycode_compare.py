"""Tells the same random stories to mycode's own store and to ours, and compares what they show.

Usage: MYCODE_RELEASE=0.4.2 python mycode_compare.py [STORIES]

Left out of the stories, because ours differs on purpose: rewinds to places that do not exist or
into the middle of a summary, and calls without a result, which mycode 0.4 answers when it loads.
"""

import asyncio
import os
import random
import sys
import tempfile
from datetime import timezone
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

RELEASE = os.environ["MYCODE_RELEASE"]
IS_OLD = RELEASE.startswith("0.4.")
THEIRS = import_module("mycode.session" if IS_OLD else "mycode_cli.sessions")
OURS = import_module("session_memory.live." + ("mycode" if IS_OLD else "mycode_catalog"))
TOLD = {"provider": "p", "model": "m", "cwd": "/src", "api_base": None}
CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "model_text": "x", "is_error": False}

Store = Any
Message = dict[str, Any]
Operation = tuple[str, tuple[Any, ...]]


def random_message(source: random.Random) -> Message:
    text = {"type": "text", "text": source.choice(["hello", "two\nlines", "é", "x" * 70_000, ""])}
    attached = {"type": "text", "text": "FILE", "meta": {"attachment": True, "path": "a"}}
    content: Any = source.choice([[text], [attached, text], [attached], [], [text, text]])
    message: Message = {"role": source.choice(["user", "assistant"]), "content": content}
    if source.random() < 0.3:
        used = {"input_tokens": source.randrange(1000), "output_tokens": 5}
        message["meta"] = {"model": "m", "usage": used, "provider_message_id": "r1"}
    if source.random() < 0.3:
        message |= {"ts": source.random(), "extra": [None, {"a": 1}]}
    return message


def random_story(source: random.Random) -> list[Operation]:
    story: list[Operation] = []
    for _ in range(source.randrange(1, 14)):
        session = source.choice("ab")
        match source.randrange(12):
            case 0:
                story.append(("delete_session", (session,)))
            case 1 | 2:
                story.append(("rewind", (session, source.random())))
            case 3:
                story.append(("compact", (session, source.choice(["so far", "all done"]))))
            case 4:
                story.append(("create", (session, source.choice(["New chat", "mine", None]))))
            case 5:
                story.append(("call", (session,)))
            case _:
                story.append(("append", (session, random_message(source))))
    return story


async def shown(store: Store) -> dict[str, Any]:
    """What a caller sees of each session, without times and without texts of our own."""
    seen: dict[str, Any] = {}
    for session in "ab":
        data = await store.load_session(session)
        if data is None:
            seen[session] = None
            continue
        messages = [dict(message) for message in data["messages"]]
        for before, message in zip(messages, messages[1:], strict=False):
            if all((one.get("meta") or {}).get("synthetic") for one in (before, message)):
                message["content"] = "the answer to a summary"
        about = {name: data["session"].get(name) for name in ("id", "cwd", "model", "provider")}
        title = data["session"]["title"] if IS_OLD else None
        totals = getattr(data.get("totals"), "usage", None)
        seen[session] = (about, title, messages, totals)
    listed = await store.list_sessions(cwd="/src")
    return {**seen, "listed": sorted(one["id"] for one in listed)}


async def tell(store: Store, operation: Operation) -> None:
    kind, arguments = operation
    session = arguments[0]
    data = await store.load_session(session)
    visible = [] if data is None else data["messages"]
    match kind:
        case "append":
            await append(store, session, arguments[1])
        case "call":
            await append(store, session, {"role": "assistant", "content": [CALL]})
            await append(store, session, {"role": "user", "content": [RESULT]})
        case "compact":
            meta = {"provider": "p", "model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}}
            meta |= {"compacted_count": 1} if IS_OLD else {"trigger": "manual"}
            content = [{"type": "text", "text": arguments[1]}]
            await append(store, session, {"role": "compact", "content": content, "meta": meta})
        case "rewind":
            to = round(arguments[1] * len(visible))
            is_summary = to == 1 and (visible[0].get("meta") or {}).get("synthetic")
            if data is not None and not is_summary and not splits_a_call(visible, to):
                await store.append_rewind(session, to)
        case "create" if data is None and IS_OLD:
            await store.create_session(arguments[1], session_id=session, **TOLD)
        case "create" if data is None:
            await store.create_session(session, cwd="/src")
        case "delete_session":
            await store.delete_session(session)


def splits_a_call(visible: list[Message], to: int) -> bool:
    return to > 0 and CALL in (visible[to - 1].get("content") or [])


async def append(store: Store, session: str, message: Message) -> None:
    if IS_OLD:
        await store.append_message(session, message, **TOLD)
        return
    if await store.load_session(session) is None:
        await store.record_user_turn(session, cwd="/src", text="")
    await store.append_message(session, message)


async def compare(number: int) -> None:
    story = random_story(random.Random(number))
    with tempfile.TemporaryDirectory() as scratch:
        stores = [
            module.SessionStore(data_dir=Path(scratch) / name)
            for name, module in (("theirs", THEIRS), ("ours", OURS))
        ]
        for step, operation in enumerate(story):
            seen = []
            for store in stores:
                await tell(store, operation)
                seen.append(await shown(store))
            if seen[0] != seen[1]:
                told = "\n".join(str(one)[:200] for one in story[: step + 1])
                both = "\n".join(str(one)[:2000] for one in seen)
                sys.exit(f"story {number} differs after step {step}:\n{told}\n{both}")
        stores[1].close()


def compare_functions() -> None:
    """The functions and constants of release 0.4, where ours mean the same."""
    messages = import_module("mycode.messages")
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("should_compact", (usage, window, threshold), {})
        for usage in (None, {}, {"input_tokens": 80}, {"prompt_tokens": "90"}, {"input_tokens": 79})
        for window in (None, 0, 100)
        for threshold in (-1, 0, 0.0, 0.8)
    ]
    calls += [("resolve_mycode_home", (), {}), ("resolve_sessions_dir", (), {})]
    calls += [("thinking_block", ("x",), {"meta": {"a": 1}}), ("text_block", ("x",), {})]
    for number in range(50):
        message = random_message(random.Random(number))
        calls.append(("flatten_message_text", (message,), {}))
        calls.append(("flatten_message_text", (message,), {"include_thinking": False}))
        calls.append(("assistant_message", (message["content"],), {"model": "m", "usage": {}}))
    for name, arguments, named in calls:
        theirs = getattr(THEIRS, name, None) or getattr(messages, name)
        expected, result = theirs(*arguments, **named), getattr(OURS, name)(*arguments, **named)
        if expected != result:
            sys.exit(f"{name}{arguments}: {expected} there, {result} here")
    for module in (THEIRS, messages):
        if missing := [name for name in own_names(module) if not hasattr(OURS, name)]:
            sys.exit(f"{module.__name__}: missing here: {', '.join(missing)}")


def own_names(module: ModuleType) -> list[str]:
    """The public names that a module defines itself: classes, functions, types and constants."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) in (module.__name__, "builtins", None)
        and not isinstance(value, ModuleType | timezone)
        and name != "annotations"
    ]


def main() -> None:
    if IS_OLD:
        compare_functions()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for number in range(count):
        asyncio.run(compare(number))
    print(f"mycode {RELEASE}: {count} random stories show the same in both stores")


if __name__ == "__main__":
    main()
