"""The scenarios that every agent is run with: the common ones, then the rarer ones."""

from session_memory.conformance.rare_scenarios import RARE_SCENARIOS
from session_memory.conformance.reply import CUT, HANG
from session_memory.conformance.scenario import (
    COMPACT,
    FORK,
    INTERRUPT,
    KILL,
    RESUME,
    CallUnknown,
    Delegate,
    EditFile,
    ReadFile,
    RunShell,
    Scenario,
    ScriptedTurn,
    Step,
    WriteFile,
)

REPOSITORY = {"README.md": "# Demo\n\nA small repository.\n"}
_TEST = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""
_RUN_TESTS = "python3 -B -m unittest test_calc"
_LONG = (
    "This is a long answer which the agent does not get to its end, because something happens "
    "in the middle of the stream, when it has read about half of these words."
)
_ALPHA = "Subagent alpha: count the lines of README.md."
_BETA = "Subagent beta: look for a file that is not there."

_BASIC = ScriptedTurn(
    "Create calc.py with add() and a test, then make the test pass.",
    (
        Step(
            "I create calc.py and a test.",
            (
                WriteFile("calc.py", "def add(a, b):\n    return a - b\n"),
                WriteFile("test_calc.py", _TEST),
            ),
            thinking="The module comes first, then its test.",
        ),
        Step("Now the tests.", (RunShell(_RUN_TESTS, fails=True),)),
        Step(
            "",
            (EditFile("calc.py", "    return a - b", "    return a + b"),),
            thinking="The operator is wrong.",
        ),
        Step("", (RunShell(_RUN_TESTS),)),
        Step("Mended: add() adds, and the test passes."),
    ),
)
_LOOK = ScriptedTurn(
    "Which files are in the repository?",
    (Step("I look.", (RunShell("ls"),)), Step("There is a README.md.")),
)

_COMMON_SCENARIOS: tuple[Scenario, ...] = (
    Scenario("basic", "two files are created, tested, edited and tested again", (_BASIC,)),
    Scenario(
        "tools",
        "several calls in one answer, reading, thinking",
        (
            ScriptedTurn(
                "Tell me three things about the repository.",
                (
                    Step("Both at once.", (RunShell("pwd"), RunShell("git log --oneline"))),
                    Step("", (ReadFile("README.md"),), thinking="The README says what it is."),
                    Step("", (RunShell("printf 'a\\nb\\n'"),)),
                    Step("It has one commit and a README of three lines."),
                ),
            ),
        ),
    ),
    Scenario(
        "tool_errors",
        "a command that fails, a missing file, an unknown tool, an edit of a missing line",
        (
            ScriptedTurn(
                "Do what cannot work.",
                (
                    Step("A command.", (RunShell("echo broken >&2; exit 3", fails=True),)),
                    Step("A file.", (ReadFile("missing.txt", fails=True),)),
                    Step("A tool.", (CallUnknown(),)),
                    Step("An edit.", (EditFile("README.md", "no such line", "x", fails=True),)),
                    Step("None of it worked."),
                ),
            ),
        ),
    ),
    Scenario(
        "edits",
        "files that are created, edited twice and deleted",
        (
            ScriptedTurn(
                "Make a list of colors in colors.txt.",
                (
                    Step("", (WriteFile("colors.txt", "red\ngreen\nblue\n"),)),
                    Step("", (EditFile("colors.txt", "green", "dark green"),)),
                    Step("", (EditFile("colors.txt", "blue", "light blue"),)),
                    Step("", (WriteFile("old.txt", "old\n"),)),
                    Step("", (RunShell("rm old.txt"),)),
                    Step("The list has three colors."),
                ),
            ),
        ),
    ),
    Scenario(
        "subagent",
        "two subagents, one of them with an error",
        (
            ScriptedTurn(
                "Let two subagents look at the repository.",
                (
                    Step("I delegate.", (Delegate(_ALPHA), Delegate(_BETA))),
                    Step("Both have answered."),
                ),
            ),
        ),
        {
            _ALPHA: (Step("Counting.", (RunShell("wc -l README.md"),)), Step("Three lines.")),
            _BETA: (
                Step("", (ReadFile("missing.txt", fails=True),)),
                Step("", (RunShell("ls"),)),
                Step("There is no such file."),
            ),
        },
    ),
    Scenario(
        "resume",
        "a session that goes on in a second run",
        (
            _BASIC,
            ScriptedTurn(
                "What changed in the tree?",
                (Step("I look.", (RunShell("git status --short"),)), Step("Two new files.")),
                RESUME,
            ),
        ),
    ),
    Scenario(
        "fork",
        "a copy of a session that goes its own way",
        (
            _BASIC,
            ScriptedTurn(
                "In the copy: show the difference.",
                (Step("", (RunShell("git diff --stat"),)), Step("Nothing is committed yet.")),
                FORK,
            ),
        ),
    ),
    Scenario(
        "compact",
        "a history that is replaced by a summary",
        (
            ScriptedTurn(
                "Look around first.",
                (Step("", (RunShell("ls"),)), Step("There is a README.md.", fills=True)),
            ),
            ScriptedTurn("", (Step("Nothing to do."),), COMPACT),
            ScriptedTurn(
                "Go on with less history.", (Step("", (RunShell("pwd"),)), Step("Done.")), RESUME
            ),
        ),
    ),
    Scenario(
        "interrupt",
        "Ctrl-C in the middle of an answer, then resumed",
        (
            ScriptedTurn(
                "List the files and explain at length.",
                (Step("I list.", (RunShell("ls"),)), Step(_LONG, fault=HANG)),
                stopped_by=INTERRUPT,
            ),
            ScriptedTurn("Go on after the stop.", (Step("I went on."),), RESUME),
        ),
    ),
    Scenario(
        "denied",
        "a tool that the user does not allow",
        (
            ScriptedTurn(
                "Write x.txt.",
                (
                    Step("I try.", (WriteFile("x.txt", "x\n", fails=True),)),
                    Step("", (ReadFile("missing.txt", fails=True),)),
                    Step("I may not write here."),
                ),
                approve=False,
            ),
        ),
    ),
    Scenario(
        "killed",
        "the agent is killed in the middle of an answer, then resumed",
        (
            ScriptedTurn(
                "List the files and take long.",
                (Step("I list.", (RunShell("ls"),)), Step(_LONG, fault=HANG)),
                stopped_by=KILL,
            ),
            ScriptedTurn("Go on after the crash.", (Step("I am back."),), RESUME),
        ),
    ),
    Scenario(
        "error",
        "requests that are refused (400, then 401), then resumed",
        (
            ScriptedTurn(
                "List the files, please.",
                (Step("I list.", (RunShell("ls"),)), Step(error=400, again=True)),
            ),
            ScriptedTurn("Try once more.", (Step(error=401, again=True),), RESUME),
            ScriptedTurn("Try a last time.", (Step("Now it works."),), RESUME),
        ),
    ),
    Scenario(
        "retry",
        "overload (529), too many requests (429) and a broken server (500), each tried again",
        (
            ScriptedTurn(
                "List the files with patience.",
                (
                    Step(error=529),
                    Step("I list.", (RunShell("ls"),)),
                    Step(error=429),
                    Step("", (RunShell("pwd"),)),
                    Step(error=500),
                    Step("There is a README.md."),
                ),
            ),
        ),
    ),
    Scenario(
        "cut",
        "a stream that is cut, then tried again",
        (
            ScriptedTurn(
                "List the files over a bad line.",
                (
                    Step("I list.", (RunShell("ls"),)),
                    Step(_LONG, fault=CUT),
                    Step("There is a README.md."),
                ),
            ),
        ),
    ),
    Scenario(
        "model_change",
        "a second run with another model",
        (
            _LOOK,
            ScriptedTurn(
                "And how many lines has the README?",
                (Step("", (RunShell("wc -l README.md"),)), Step("Three.")),
                RESUME,
                other_model=True,
            ),
        ),
    ),
)

SCENARIOS = (*_COMMON_SCENARIOS, *RARE_SCENARIOS)
NAMES = tuple(scenario.name for scenario in SCENARIOS)
