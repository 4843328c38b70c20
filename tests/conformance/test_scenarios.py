"""The scenarios, and that every driver says how its agent does them or why it cannot."""

import json
import shlex
from pathlib import Path

import pytest

from session_memory.conformance.driver import Driver, Launch
from session_memory.conformance.drivers import DRIVERS
from session_memory.conformance.drivers.qwen import Qwen
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.played import AUX, MAIN, SUMMARY, Played, tokens
from session_memory.conformance.reply import Ids
from session_memory.conformance.scenario import COMPACT, NEW, RESUME, ReadFile, Scenario, Step
from session_memory.conformance.scenarios import NAMES, SCENARIOS
from session_memory.conformance.sent import Sent
from session_memory.conformance.wires import WIRES

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]

CHAT = next(wire for wire in WIRES if wire.name == "OpenAI chat")
every_driver = pytest.mark.parametrize("driver", [one() for one in DRIVERS], ids=lambda d: d.name)


def scenario(name: str) -> Scenario:
    return next(one for one in SCENARIOS if one.name == name)


def steps_of(one: Scenario) -> list[Step]:
    steps = [step for turn in one.turns for step in turn.steps]
    return steps + [step for lane in one.subagents.values() for step in lane]


def test_prompts_differ_so_that_requests_can_be_told_apart() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for one in SCENARIOS:
        prompts = [*(turn.prompt for turn in one.turns if turn.start != COMPACT), *one.subagents]
        assert all(prompts) and len(set(prompts)) == len(prompts)


def test_no_two_requests_report_the_same_tokens() -> None:
    numbers = range(1, 300)
    for name in ("uncached", "cache_read", "cache_write", "output", "reasoning"):
        assert len({getattr(tokens(number), name) for number in numbers}) == len(numbers)


@every_driver
def test_a_driver_can_do_a_scenario_or_says_why_not(driver: Driver, tmp_path: Path) -> None:
    place = AgentPlace.made(tmp_path / "place", "http://127.0.0.1:1")
    assert driver.cannot.keys() | (driver.known.keys() - {"*"}) <= set(NAMES)
    assert driver.sometimes.keys() <= set(NAMES)
    assert all(driver.cannot.values()) and driver.logs and driver.package
    for one in SCENARIOS:
        if driver.why_not(one):
            continue
        if one.queues:
            assert driver.listening(Launch("")) and "Go." in driver.spoken("Go.", True)
        for step in steps_of(one):
            replies = driver.replies(step, place)
            called = [call for reply in replies for call in reply.calls]
            actions = step.actions if driver.has_tools else ()
            assert len(called) >= len(actions)
            assert sum(call.fails for call in called) == sum(a.fails for a in actions)


@every_driver
def test_a_file_is_read_whatever_its_name_is(driver: Driver, tmp_path: Path) -> None:
    place = AgentPlace.made(tmp_path / "place", "http://127.0.0.1:1")
    if not driver.has_tools:
        return
    name = "two words; it's one file.txt"
    asked = json.dumps(driver.call(ReadFile(name), place).arguments)
    # Without a tool that reads files, the shell does it.
    command = json.loads(asked).get("cmd") or json.loads(asked).get("command")
    read = shlex.split(command)[-1] if command else asked
    assert str(place.repo / name) in read


@every_driver
def test_a_driver_writes_below_the_home_only_and_names_its_sessions(
    driver: Driver, tmp_path: Path
) -> None:
    place = AgentPlace.made(tmp_path / "place", "http://127.0.0.1:1")
    driver.configure(place)
    driver.trust(place)
    assert not list(place.repo.iterdir()) and not list(place.temporary.iterdir())
    new, again = (driver.arguments(Launch("Go.", start), place) for start in (NEW, RESUME))
    assert "Go." in new and "Go." in again and new != again
    changed = Launch("Go.", NEW, model=driver.models[1])
    other = driver.arguments(changed, place), driver.variables(changed)
    assert other != (new, driver.variables(Launch("Go.", NEW)))
    text = " ".join(path.read_text() for path in place.home.rglob("*") if path.is_file()) + str(
        driver.environment(place)
    )
    assert place.url in text


class Deaf(Qwen):
    listening = Driver.listening


def test_a_driver_that_sends_no_prompts_later_needs_to_declare_nothing() -> None:
    cannot = {one.name for one in SCENARIOS if Deaf().why_not(one)}
    assert cannot == {"queued"} and not Qwen().why_not(scenario("queued"))


def played(name: str, tmp_path: Path) -> Played:
    driver = next(one for one in DRIVERS if one.name == "qwen")()
    place = AgentPlace(tmp_path / "home", tmp_path / "repo", "")
    return Played(driver, scenario(name), place, Ids(name))


def request(*said: str, tools: bool = True) -> Sent:
    messages = [{"role": "user", "content": text} for text in said]
    tool = {"type": "function", "function": {"name": "run_shell_command"}}
    body = {"model": "m-1", "messages": messages, "tools": [tool] * tools}
    return Sent(CHAT, "/v1/chat/completions", b"", body)


def test_each_part_of_a_scenario_gets_its_own_replies(tmp_path: Path) -> None:
    play = played("subagent", tmp_path)
    (turn,) = play._scenario.turns
    alpha, beta = play._scenario.subagents
    play.begin(turn)
    for sent in (
        request(turn.prompt, tools=False),
        request(turn.prompt),
        request(beta),
        request(alpha),
        request("A title, please."),
        request(turn.prompt, alpha, beta),
    ):
        play.serve(sent)
    assert [one.lane for one in play.requests] == [AUX, MAIN, beta, alpha, AUX, MAIN]
    assert [one.session for one in play.requests[1:4]] == [MAIN, beta, alpha]
    assert len({one.reply.usage for one in play.requests}) == 6
    assert (play.skipped, play.over) == (3, 0)  # One of alpha, two of beta.
    play.serve(request(turn.prompt))
    assert play.over == 1


def test_a_request_for_a_summary_is_answered_with_one(tmp_path: Path) -> None:
    play = played("compact", tmp_path)
    first, compact, last = play._scenario.turns
    play.begin(first)
    play.serve(request(first.prompt))
    play.serve(request(first.prompt, "README.md"))
    play.begin(compact)
    play.serve(request(first.prompt, "Write the <state_snapshot> now.", tools=False))
    play.begin(last)
    play.serve(request(last.prompt))
    play.serve(request(last.prompt, "."))
    assert [one.lane for one in play.requests] == [MAIN, MAIN, SUMMARY, MAIN, MAIN]
    assert play.requests[2].reply.text.startswith("<state_snapshot>")
    assert play.prompts == [first.prompt, last.prompt] and play.skipped == 0


def test_an_error_that_lasts_is_given_until_the_turn_ends(tmp_path: Path) -> None:
    play = played("error", tmp_path)
    for turn, times in zip(play._scenario.turns, (4, 2, 1), strict=True):
        play.begin(turn)
        for _ in range(times):
            play.serve(request(turn.prompt))
    assert [one.reply.error for one in play.requests] == [0, 400, 400, 400, 401, 401, 0]
    assert play.skipped == 0
