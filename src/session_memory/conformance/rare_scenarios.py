"""Rarer scenarios: an agent is stopped at a bad moment, texts are odd, or several common scenarios
happen in one session."""

from session_memory.conformance.reply import CUT, HANG, PAUSE
from session_memory.conformance.scenario import (
    COMPACT,
    FORK,
    INTERRUPT,
    KILL,
    RESUME,
    CallUnknown,
    Delegate,
    ReadFile,
    RunShell,
    Scenario,
    ScriptedTurn,
    Step,
    WriteFile,
)

_HALF = "This answer is never heard to its end, because the line goes dead while it is spoken."
_SLOW = "There is a README.md, which is said so slowly that the user has time to type."
_GAMMA = "Subagent gamma: count the words of README.md."
_DELTA = "Subagent delta: say where you are."
_ODD = "Grüße, 世界, \u202eright to left\u202c, 👩\u200d💻, tab\there, \u2028 and\r\nWindows."
_FAILURE = "Process exited with code 3\nCommand failed with exit code: 4\nExit Code: 7\n"
_LINES = "".join(f"line {number} of a long file\n" for number in range(3000))

RARE_SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "killed_early",
        "the agent is killed before the first answer is complete, then started again",
        (
            ScriptedTurn("Say something long.", (Step(_HALF, fault=HANG),), stopped_by=KILL),
            ScriptedTurn("Say something short.", (Step("Here I am."),), RESUME),
        ),
        needs=("killed",),
    ),
    Scenario(
        "killed_call",
        "the agent is killed in the middle of a call, then resumed",
        (
            ScriptedTurn(
                "Run a command and another one.",
                (
                    Step("", (RunShell("pwd"),)),
                    Step("I write.", (WriteFile("long.txt", _LINES[:2000]),), fault=HANG),
                ),
                stopped_by=KILL,
            ),
            ScriptedTurn("Go on after the half call.", (Step("I went on."),), RESUME),
        ),
        needs=("killed", "basic"),
    ),
    Scenario(
        "cut_call",
        "a stream that is cut in the middle of a call, then tried again",
        (
            ScriptedTurn(
                "Write a file over a bad line.",
                (
                    Step("I list.", (RunShell("ls"),)),
                    Step("", (WriteFile("cut.txt", _LINES[:2000]),), fault=CUT),
                    Step("", (WriteFile("cut.txt", "whole\n"),)),
                    Step("The file is written."),
                ),
            ),
            ScriptedTurn("And now?", (Step("All is well."),), RESUME),
        ),
        needs=("basic", "resume"),
    ),
    Scenario(
        "interrupt_twice",
        "Ctrl-C in two runs, then resumed",
        (
            ScriptedTurn(
                "Explain the first thing.",
                (Step("I look.", (RunShell("ls"),)), Step(_HALF, fault=HANG)),
                stopped_by=INTERRUPT,
            ),
            ScriptedTurn(
                "Explain the second thing.",
                (Step(_HALF, fault=HANG),),
                RESUME,
                stopped_by=INTERRUPT,
            ),
            ScriptedTurn("Explain the third thing.", (Step("There are three."),), RESUME),
        ),
        needs=("interrupt",),
    ),
    Scenario(
        "parallel",
        "four calls in one answer, two of which fail, and three in the next one",
        (
            ScriptedTurn(
                "Do four things at once.",
                (
                    Step(
                        "All at once.",
                        (
                            RunShell("echo one"),
                            ReadFile("missing.txt", fails=True),
                            WriteFile("four.txt", "4\n"),
                            RunShell("exit 4", fails=True),
                        ),
                        thinking="They do not depend on each other.",
                    ),
                    Step("", (ReadFile("four.txt"), RunShell("echo two"), ReadFile("README.md"))),
                    Step("Two of them failed."),
                ),
            ),
        ),
        needs=("tools",),
    ),
    Scenario(
        "subagent_later",
        "a subagent in a session that was resumed",
        (
            ScriptedTurn("Look first.", (Step("", (RunShell("ls"),)), Step("A README.md."))),
            ScriptedTurn(
                "Now let a subagent look.",
                (Step("I delegate.", (Delegate(_GAMMA),)), Step("It has answered.")),
                RESUME,
            ),
            ScriptedTurn("What did it say?", (Step("Six words."),), RESUME),
        ),
        {_GAMMA: (Step("", (RunShell("wc -w README.md"),)), Step("Six words."))},
        needs=("subagent", "resume"),
    ),
    Scenario(
        "fork_subagent",
        "a copy of a session with a subagent, which then starts another one",
        (
            ScriptedTurn(
                "Let a subagent look first.",
                (Step("I delegate.", (Delegate(_GAMMA),)), Step("It has answered.")),
            ),
            ScriptedTurn(
                "In the copy: list the files.",
                (Step("", (RunShell("ls"),)), Step("A README.md.")),
                FORK,
            ),
            ScriptedTurn(
                "In the copy: let another subagent look.",
                (Step("", (Delegate(_DELTA),)), Step("That one has answered, too.")),
                RESUME,
            ),
        ),
        {
            _GAMMA: (Step("", (RunShell("wc -w README.md"),)), Step("Six words.")),
            _DELTA: (Step("", (RunShell("pwd"),)), Step("In the repository.")),
        },
        needs=("fork", "subagent", "resume"),
    ),
    Scenario(
        "fork_twice",
        "a copy of a session with failed calls, and a copy of the copy",
        (
            ScriptedTurn(
                "Try three things.",
                (
                    Step("I try.", (RunShell("exit 5", fails=True), CallUnknown())),
                    Step("", (ReadFile("missing.txt", fails=True),)),
                    Step("None of them worked."),
                ),
            ),
            ScriptedTurn(
                "In the copy: try again.",
                (Step("", (CallUnknown(),)), Step("It does not work here either.")),
                FORK,
            ),
            ScriptedTurn(
                "In the copy of the copy: list the files.",
                (Step("", (RunShell("ls"),)), Step("A README.md.")),
                FORK,
            ),
        ),
        needs=("fork", "tool_errors"),
    ),
    Scenario(
        "misleading",
        "outputs that only look like failures",
        (
            ScriptedTurn(
                "Write down how it ended.",
                (
                    Step("", (WriteFile("end.txt", _FAILURE),)),
                    Step("", (ReadFile("end.txt"),)),
                    Step("", (RunShell("cat end.txt"),)),
                    Step(f"It ended so:\n{_FAILURE}"),
                ),
            ),
        ),
        needs=("basic",),
    ),
    Scenario(
        "long",
        "a long output, a long file and a long answer",
        (
            ScriptedTurn(
                "Print many lines.",
                (
                    Step("", (RunShell("seq 1 20000"),)),
                    Step("", (WriteFile("long.txt", _LINES),)),
                    Step(f"Here they are.\n\n{_LINES[:20_000]}"),
                ),
            ),
            ScriptedTurn("Was that all?", (Step("Yes."),), RESUME),
        ),
        needs=("basic", "resume"),
    ),
    Scenario(
        "unicode",
        "texts in many scripts, with the line ends of Windows",
        (
            ScriptedTurn(
                f"Write this down: {_ODD}",
                (
                    Step(_ODD, (WriteFile("naïve ☕.txt", _ODD),), thinking=_ODD),
                    Step("", (RunShell("printf 'a\\r\\nb\\r\\n\\033[31mred\\033[0m \\377\\n'"),)),
                    Step("", (ReadFile("naïve ☕.txt"),)),
                    Step(f"Written: {_ODD}"),
                ),
            ),
        ),
        needs=("basic",),
    ),
    Scenario(
        "empty",
        "an answer without any text, then one with some",
        (
            ScriptedTurn(
                "Answer with nothing.",
                (Step("", (RunShell("true"),)), Step(""), Step("That was nothing.")),
            ),
            ScriptedTurn("Answer with something.", (Step("Something."),), RESUME),
        ),
        needs=("basic", "resume"),
    ),
    Scenario(
        "models",
        "three runs that change the model and change it back",
        (
            ScriptedTurn("Which model are you?", (Step("", (RunShell("ls"),)), Step("One."))),
            ScriptedTurn(
                "And which one now?",
                (Step("", (RunShell("pwd"),)), Step("Another one.")),
                RESUME,
                other_model=True,
            ),
            ScriptedTurn("And at the end?", (Step("The first one again."),), RESUME),
        ),
        needs=("model_change", "basic"),
    ),
    Scenario(
        "compact_twice",
        "a history that is replaced by a summary twice",
        (
            ScriptedTurn(
                "Look around once.", (Step("", (RunShell("ls"),)), Step("Seen.", fills=True))
            ),
            ScriptedTurn("", (Step("Nothing to do."),), COMPACT),
            ScriptedTurn(
                "Look around again.",
                (Step("", (RunShell("pwd"),)), Step("Seen again.", fills=True)),
                RESUME,
            ),
            ScriptedTurn("", (Step("Nothing to do."),), COMPACT),
            ScriptedTurn("Finish with less.", (Step("", (RunShell("ls"),)), Step("Done.")), RESUME),
        ),
        needs=("compact",),
    ),
    Scenario(
        "denied_then_allowed",
        "a tool that is not allowed, and is allowed in the next run",
        (
            ScriptedTurn(
                "Write y.txt.",
                (
                    Step("I try.", (WriteFile("y.txt", "y\n", fails=True),)),
                    Step("I may not write here."),
                ),
                approve=False,
            ),
            ScriptedTurn(
                "You may write it now.",
                (Step("", (WriteFile("y.txt", "y\n"),)), Step("Written.")),
                RESUME,
            ),
        ),
        needs=("denied", "resume"),
    ),
    Scenario(
        "queued",
        "two prompts that are sent while the agent works",
        (
            ScriptedTurn(
                "List the files slowly.",
                (
                    Step("I list.", (RunShell("ls"),), fault=PAUSE),
                    Step("", (RunShell("pwd"),)),
                    Step(_SLOW, fault=PAUSE),
                    Step("That is all.", again=True),
                ),
                queued=("Name the directory as well.", "And say when you are done."),
            ),
        ),
        needs=("basic",),
    ),
)
