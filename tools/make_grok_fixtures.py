"""Make tests/data/grok from recorded sessions, with everything the vendor wrote cut out.

    python tools/make_grok_fixtures.py tests/data/grok ../shared/samples/agents/grok-1.0.41
    python tools/make_grok_fixtures.py tests/data/grok_driven SCENARIO…

Each argument after the first is a directory of scenarios, or one scenario. Kept are the logs line
by line, their ids, usage and the texts of the script, and the small files beside them. Cut are
system prompts, injected context and the frame around a subagent's report; places of the recording
machine get other names.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

KEPT_OF_EXPECTED = ("agent", "version", "scenario", "truth", "script", "requests")
KEPT_OF_REQUEST = ("lane", "step", "model", "usage", "tools", "message_id", "group")
KEPT_FILES = frozenset(
    {
        *("updates.jsonl", "events.jsonl", "summary.json", "usage.json", "meta.json"),
        *("output.json", "chat_history.jsonl", "rewind_points.jsonl"),
    }
)
LONGEST_TEXT = 160
FRAME = re.compile(r"\n\n(?:<subagent_meta>|When you need its result).*\Z", re.DOTALL)
REMINDER = re.compile(r"\A<system-reminder>.*\Z", re.DOTALL)
PLACES = (
    (re.compile(r"/[\w/-]*/_run/(\w+)/repo"), r"/home/mira/code/\1"),
    (re.compile(r"(?:%2F[\w-]+)*%2F_run%2F(\w+)%2Frepo"), r"%2Fhome%2Fmira%2Fcode%2F\1"),
    (re.compile(r"/[\w/-]*/_run/\w+/home"), "/home/mira"),
    (re.compile(r"/home/[\w-]+/realcli/work-grok-"), "/home/mira/code/"),
    (re.compile(r"%2Fhome%2F[\w-]+%2Frealcli%2Fwork-grok-"), "%2Fhome%2Fmira%2Fcode%2F"),
    (re.compile(r"/home/[\w-]+/realcli/home-grok/\w+"), "/home/mira"),
    (re.compile(r"/home/[\w-]+/realcli/py/bin/python3"), "python3"),
)


def main(target: Path, samples: list[Path]) -> None:
    if target.exists():
        shutil.rmtree(target)
    found = [path for place in samples for path in place.glob("**/EXPECTED.json")]
    for expected in sorted(found):
        scenario = target / expected.parent.name
        scenario.mkdir(parents=True)
        document = json.dumps(without_runs(json.loads(expected.read_text())), indent=1)
        (scenario / "EXPECTED.json").write_text(renamed(document) + "\n")
        for path in sorted((expected.parent / "home").rglob("*")):
            if path.is_file() and (path.name in KEPT_FILES or path.parent.name == "terminal"):
                copy(path, scenario / renamed(str(path.relative_to(expected.parent))))


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    text = source.read_text()
    if source.suffix == ".jsonl":
        records = [without_prose(json.loads(line), source.name) for line in text.splitlines()]
        lines = [
            json.dumps(record, separators=(",", ":"), ensure_ascii=False) for record in records
        ]
        text = "".join(f"{line}\n" for line in lines)
    elif source.suffix == ".json" and source.name != "output.json":
        text = json.dumps(without_prose(json.loads(text), source.name), indent=2)
    target.write_text(renamed(text))


def without_runs(expected: dict[str, Any]) -> dict[str, Any]:
    """What was scripted, without the command lines and outputs of the recording machine."""
    kept = {name: expected[name] for name in KEPT_OF_EXPECTED if name in expected}
    kept["requests"] = [
        {name: request[name] for name in KEPT_OF_REQUEST if name in request}
        for request in expected["requests"]
    ]
    return kept


def without_prose(value: Any, name: str) -> Any:
    """Long texts of the files that hold prompts; in the log only the frame around a report."""
    if isinstance(value, dict):
        return {key: without_prose(item, name) for key, item in value.items()}
    if isinstance(value, list):
        return [without_prose(item, name) for item in value]
    if not isinstance(value, str):
        return value
    if name == "chat_history.jsonl" and len(value) > LONGEST_TEXT:
        return "(cut)"
    return REMINDER.sub("<system-reminder>(cut)", FRAME.sub("", value))


def renamed(text: str) -> str:
    for place, name in PLACES:
        text = place.sub(name, text)
    return text


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(place) for place in sys.argv[2:]])
