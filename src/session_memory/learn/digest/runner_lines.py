"""The forms of error lines that compilers, linters, test runners and shells print.

A form has one of four grades. A diagnostic names what is wrong in the words of the program that
found it. A message is an exception or a line that a program calls an error. A hint only contains a
word such as "cannot". A status says that something failed and not what, so it cannot tell one error
from another.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern

DIAGNOSTIC, MESSAGE, HINT, STATUS = 3, 2, 1, 0
_FILE = r"(?P<path>[A-Za-z]:[\\/][^\s:()]+|[^\s:()'\"`]*[^\s:()'\"`/]\.\w{1,8})"
_AT = rf"{_FILE}(?::\d+(?::\d+)?|:\[\d+,\d+\])"
_EXCEPTION = r"(?:[A-Za-z_][\w.:$]*)?(?:Error|Exception|Exit|Interrupt|Panic|Failure)"
_SEVERITY = r"(?:fatal error|error|Error|ERROR)"
_NOT_FOUND = (
    r"command not found|not found|No such file or directory|Permission denied|no matches found"
    r"|syntax error|parse error|unbound variable|Operation not permitted|Is a directory"
    r"|cannot execute|bad substitution|event not found"
)


class LineForm(NamedTuple):
    """A form of error lines: a pattern for the beginning of a line, and what a match means.

    ``tool`` is the program that prints such lines; "" for several programs. ``about`` is what the
    error concerns: ``type``, ``lint``, ``format``, ``test``, ``call``, or "" if the form does not
    show it. ``needs`` is a quick check before a slow pattern: a false result means no match.
    """

    tool: str
    about: str
    grade: int
    pattern: re.Pattern[str]
    needs: Callable[[str], object] | None = None

    def match(self, line: str) -> re.Match[str] | None:
        return self.pattern.match(line) if self.needs is None or self.needs(line) else None


def _form(
    tool: str,
    about: str,
    grade: int,
    pattern: str,
    needs: Callable[[str], object] | None = None,
) -> LineForm:
    return LineForm(tool, about, grade, lazy_pattern(pattern), needs)


# Names of system errors, of which there are few: "ECIES," is no error.
_ERRNO = (
    r"E(?:ACCES|ADDR[A-Z]+|AGAIN|BADF|BUSY|CHILD|CONN[A-Z]+|DEADLK|EXIST|HOSTUNREACH|INTEGRITY|INVAL"
    r"|IS[A-Z]+|JSONPARSE|LOOP|M[A-Z]+|NAMETOOLONG|NEEDAUTH|NET[A-Z]+|NFILE|NO[A-Z]+|PERM|PIPE|PROTO"
    r"|RANGE|RESOLVE|ROFS|RRORS?|TARGET|TIMED?OUT|TXTBSY|USAGE|UNSUPPORTED[A-Z]*|XDEV)"
)
_ERROR_NAME = lazy_pattern(rf"\b{_ERRNO}[:,]|ERR!")
_HINT_WORD = lazy_pattern(
    r"command not|no such|permission denied|not recognized|illegal option|unknown option"
    r"|unrecognized|can(?:no|')t|could(?:n't| not)|unable to|failed to|not permitted|refused"
    r"|denied|time|invalid|is not|does not|did not|undefined (?:reference|symbol)"
)


_LISTED = ("- ", "+ ", "* ", "< ", "> ")


def _may_be_hint(line: str) -> bool:
    # Lists and the lines of a diff quote what was written somewhere.
    if line.startswith(_LISTED):
        return False
    return not line.isascii() or _HINT_WORD.search(line.lower()) is not None


# The first form that matches a line counts. Margins are removed before lines are matched.
FORMS: tuple[LineForm, ...] = (
    # Compilers and type checkers
    _form("tsc", "type", DIAGNOSTIC, rf"{_FILE}\(\d+,\d+\): error (?P<code>TS\d+): (?P<said>.+)"),
    _form("tsc", "type", DIAGNOSTIC, rf"{_AT} - error (?P<code>TS\d+): (?P<said>.+)"),
    _form(
        "tsc",
        "type",
        DIAGNOSTIC,
        r"(?:.{0,80}\b)?error (?P<code>TS\d+): (?P<said>.+)",
        lambda line: "error TS" in line,
    ),
    _form("pyright", "type", DIAGNOSTIC, rf"{_AT} - error: (?P<said>.+)"),
    _form(
        "dotnet",
        "type",
        DIAGNOSTIC,
        rf"{_FILE}\(\d+(?:,\d+)*\): (?:fatal )?error (?P<code>[A-Z]+\d+): (?P<said>.+)",
    ),
    _form("rustc", "type", DIAGNOSTIC, r"error\[(?P<code>E\d+)\]: (?P<said>.+)"),
    _form("maven", "type", DIAGNOSTIC, rf"\[ERROR\] {_AT} (?P<said>.+)"),
    _form("kotlinc", "type", DIAGNOSTIC, rf"e: (?:file://)?{_AT}:? (?P<said>.+)"),
    # Linters and formatters
    _form(
        "biome",
        "lint",
        DIAGNOSTIC,
        rf"(?:at )?(?:{_FILE}(?::\d+:\d+)? )?(?P<code>(?:lint|assist|suppressions|parse)/[\w/]+)"
        r"(?P<said>.*)",
    ),
    _form("biome", "format", DIAGNOSTIC, rf"(?:at )?{_FILE} (?P<code>format)(?P<said>) *━*$"),
    _form(
        "eslint",
        "lint",
        DIAGNOSTIC,
        r"\d+:\d+\s+(?:error|[✖×])\s+(?P<said>.+?)(?:\s{2,}(?P<code>\S+))?$",
    ),
    _form("oxlint", "lint", DIAGNOSTIC, r"[×✖x!] (?P<code>[\w-]+\([\w/-]+\)): (?P<said>.+)"),
    _form(
        "ruff", "lint", DIAGNOSTIC, r"(?P<code>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(?P<said>[`'\"A-Z].+)"
    ),
    _form(
        "ruff",
        "lint",
        DIAGNOSTIC,
        rf"{_AT}: (?P<code>[A-Z]{{1,4}}\d{{3,4}}):? (?:\[\*\] )?(?P<said>.+)",
    ),
    _form("", "format", DIAGNOSTIC, rf"(?:Would reformat:|would reformat) {_FILE}(?P<said>)"),
    _form("oxfmt", "format", DIAGNOSTIC, r"error: (?P<said>Formatting issues found)$"),
    _form("rustfmt", "format", DIAGNOSTIC, rf"Diff in {_FILE}(?P<said>)(?: at line |:)\d+:?$"),
    _form("prettier", "format", DIAGNOSTIC, rf"\[(?:warn|error)\] {_FILE}(?P<said>)$"),
    # Tests
    _form(
        "pytest", "test", DIAGNOSTIC, rf"E {{2,}}(?P<said>(?:{_EXCEPTION}\b|assert |Failed: ).*)"
    ),
    # The summary at the end of a test run. It counts only if the "E" lines are not shown.
    _form(
        "pytest",
        "test",
        DIAGNOSTIC,
        r"(?:FAILED|ERROR) (?P<path>\S+\.py)(?P<said>::\S.*| - \S.*|$)",
    ),
    _form("bun", "test", DIAGNOSTIC, r"\(fail\) (?P<said>.+?)(?: \[[\d.]+m?s\])?$"),
    _form("go", "test", DIAGNOSTIC, r"--- FAIL: (?P<said>\S+)"),
    _form("vitest", "test", DIAGNOSTIC, rf"(?:❯ )?FAIL {{1,}}{_FILE} > (?P<said>.+)"),
    _form("jest", "test", DIAGNOSTIC, r"● (?P<said>.+ › .+)"),
    _form("cargo", "test", DIAGNOSTIC, r"test (?P<said>\S+) \.\.\. FAILED"),
    _form("rspec", "test", DIAGNOSTIC, rf"rspec (?:\./)?{_AT} # (?P<said>.+)"),
    _form("tap", "test", DIAGNOSTIC, r"not ok \d+ (?:- )?(?P<said>(?!.*# (?:TODO|SKIP)).+)"),
    _form("unittest", "test", DIAGNOSTIC, r"(?:FAIL|ERROR): (?P<said>\w+ \(\S+\))"),
    _form(
        "playwright",
        "test",
        DIAGNOSTIC,
        r"\d{1,3}\) (?:\[[\w -]+\] › )?(?P<path>\S+?):\d+:\d+ › (?P<said>.+?)(?: ─+)?$",
        lambda line: " › " in line,
    ),
    _form("mocha", "test", DIAGNOSTIC, r"\d{1,3}\) (?P<said>[A-Z].+)"),
    # Packages and tools
    _form("pnpm", "", DIAGNOSTIC, r"(?P<code>ERR_PNPM_\w+)\s+(?P<said>.+)"),
    _form("npm", "", DIAGNOSTIC, r"npm (?:ERR!|error) (?P<said>(?:code|\d{3}|missing|Missing) .+)"),
    _form("make", "call", DIAGNOSTIC, r"g?make(?:\[\d+\])?: \*\*\* (?P<said>No rule .+)"),
    _form("git", "", DIAGNOSTIC, r"(?P<said>! \[(?:remote )?rejected\] .+|CONFLICT \(.+)"),
    _form("git", "call", DIAGNOSTIC, r"(?P<said>The previous cherry-pick is now empty.*)"),
    _form("php", "", DIAGNOSTIC, r"PHP (?:Fatal|Parse) error: +(?P<said>.+)"),
    _form("ruby", "", DIAGNOSTIC, rf"{_AT}:in [`'].+?': (?P<said>.+\(\w+\))"),
    # Shells: "zsh:1: command not found: gh", "bash: line 3: x: not found"
    _form(
        "shell",
        "call",
        DIAGNOSTIC,
        rf"(?:\S*\b(?:ba|z|da|k|fi)?sh|\(eval\)|\S+)(?::(?: line)? ?\d+)?: "
        rf"(?P<said>(?:\S+: ){{0,3}}(?:{_NOT_FOUND})\b.*)",
    ),
    # Everything else that a shell says: 'zsh:1: unmatched "', "bash: line 2: unexpected EOF …"
    _form(
        "shell",
        "call",
        DIAGNOSTIC,
        r"(?:zsh: |(?:(?:/bin/)?(?:ba|z|da|k)?sh|\(eval\)): ?\d+: |\S*\b(?:ba|z|da|k)?sh:(?: -c:)?"
        r" line \d+: )(?P<said>(?!warning)\S.*)",
    ),
    # gcc, clang, go, mypy, javac, swiftc, shellcheck, golangci-lint
    _form("", "type", DIAGNOSTIC, rf"{_AT}:? {_SEVERITY}: (?P<said>.+)"),
    _form("", "type", DIAGNOSTIC, rf"(?:vet: )?{_FILE}:\d+:\d+: (?P<said>(?!warning|note)\S.+)"),
    # Messages
    # A filter such as "| tail" may have cut off the line before this one, which names the file.
    _form("biome", "format", MESSAGE, r"[×!] (?P<said>Formatter would have printed .+)"),
    _form("biome", "lint", MESSAGE, r"[×!] (?P<said>The imports and exports are not sorted\.)"),
    _form(
        "",
        "",
        MESSAGE,
        rf"(?:\S+:\d+(?::\d+)? )?(?:Uncaught |Unhandled |\w+ )?(?P<said>(?P<code>{_EXCEPTION})"
        r"(?: \[\w+\])?(?:: \S.*|$))",
    ),
    _form("", "type", MESSAGE, rf"{_FILE}:\d+: (?P<said>(?!warning|note|\w*Warning)\S.+)"),
    _form("", "", MESSAGE, r"(?P<said>panic: .+|thread '.+' panicked at .+)"),
    _form("", "", MESSAGE, r"(?:[\w./ -]{1,40}: )?(?:fatal|FATAL|Fatal)(?: error)?: (?P<said>.+)"),
    _form(
        "",
        "",
        MESSAGE,
        r"(?:\S+ \[ERROR\] |\[ERROR\] |(?:[\w./()@-]{1,40}: )?(?:error|ERROR|Error)(?:\(\w+\))?: )"
        r"(?P<said>\S.*)",
    ),
    _form("", "", MESSAGE, r"(?P<said>(?:curl: \(\d+\)|ssh: |scp: |\S+@\S+: Permission) ?.+)"),
    _form("", "", MESSAGE, r"(?P<said>[✗✘✖×] .+|X Failed .+|ERROR in .+)"),
    _form(
        "",
        "",
        MESSAGE,
        r"(?P<said>(?:(?:error|Error|ERROR) (?!Command failed)|[a-z][\w.-]{1,20} ERROR )"
        r"[a-zA-Z].+)",
    ),
    _form("", "", MESSAGE, r"(?P<said>[A-Z][a-z]+ error: \S.*)"),
    _form("gradle", "", MESSAGE, r"(?P<said>\* What went wrong:)"),
    _form(
        "",
        "",
        MESSAGE,
        rf"(?P<said>.*\b(?:ERR!|{_ERRNO}[:,]).*)",
        lambda line: _ERROR_NAME.search(line),
    ),
    # Hints
    # oxfmt lists the files that are not formatted, with the time that each took.
    _form("", "format", HINT, rf"{_FILE} \(\d+ms\)(?P<said>)$"),
    _form(
        "",
        "",
        HINT,
        r"(?P<said>.*\b(?i:command not found|no such (?:file|\w+)|permission denied|not recognized"
        r"|illegal option|unknown option|unrecognized|cannot|can't|couldn't|could not|unable to"
        r"|failed to|not permitted|refused|denied|timed? ?out|invalid|is not|does not|did not"
        r"|undefined (?:reference|symbol))"
        r"\b.*)",
        _may_be_hint,
    ),
    _form("", "", HINT, r"(?P<said>FAIL(?:ED|URE)?\b:? +\S+ \S.*)"),
    _form(
        "",
        "",
        HINT,
        r"(?P<said>(?:[\w./-]{1,40}: )?(?:[Uu]nknown|[Uu]nsupported|[Uu]nexpected|[Aa]mbiguous"
        r"|[Mm]issing) [\w`'\"-]+ ?\S.*)",
    ),
)
# A program that reads or lists files did not find one: "rg: src/x: No such file or directory".
MISSING_FILE = lazy_pattern(
    r"(?i)^(?:ls|cat|sed|rg|grep|find|head|tail|nl|wc|stat|bat|file|diff): "
    r"(?:cannot (?:access|open) |can't (?:read|open) )?['‘`\"]?(?P<path>[^:'’\"]+)['’\"]?: "
    r".*(?:no such file|not found)"
)
# These lines only say that something failed.
STATUS_LINE = lazy_pattern(
    r"""(?: error:\ script\ "[^"]*"\ exited | error:\ found\ \d+\ errors?
      | error:\ (?:could\ not\ compile|test\ failed)
      | error:\ Recipe | g?make(?:\[\d+\])?:\ \*\*\*\ \[ | husky\ -
      | npm\ (?:ERR!|error)\ (?:A\ complete|path|command|Lifecycle|errno|syscall|workspace|location
        |This\ is)
      | npm\ (?:ERR!|error)$
      | .{0,20}ERR_PNPM_RECURSIVE_\w*FAIL\b(?!.*\bnot\ found)
      | .{0,20}Process\ completed\ with\ exit\ code
      | (?:Caused\ by:\ *)?Syntax\ Error$
      | npm\ (?:ERR!|error)\ code\ (?:1|ELIFECYCLE)$ | .{0,40}ELIFECYCLE | error\ Command\ failed
      | FAILED:\ \S+(?:\ \S+)?$ | FAIL(?:ED)?$ | (?:ERROR|error:?)\ task\ failed
      | (?:\S+\ )?ERROR\ (?:Run\ with|task\ failed) | \[ERROR\]\ Found\ \d
      | Failed\ to\ compile\.?$ | ●\ Test\ suite\ failed\ to\ run
      | (?:collect2|clang(?:\+\+)?):\ error:\ (?:ld\ returned|linker\ command)
      | Found\ \d+\ (?:errors?|warnings?|issues?)
      | \d+\ (?:errors?|fail)\b
      | .{0,20}\d+\ (?:failed|failing|problems?)\b | command\ failed | Command\ failed
      | .{0,40}exited\ with\ (?:exit\ )?code | .{0,40}exit\ status\ \d+$
      | FAIL\s+\S+\s+(?:\d[\d.]*s|\[\w+\ failed\])$ | BUILD\ FAILED | FAILURE:\ Build
      | error:\ failed\ to\ push\ some\ refs | Some\ (?:warnings|errors)\ were
      | ×\ Some\ (?:warnings|errors) | \[ERROR\]\ (?:Failed\ to\ execute|To\ see|Re-run|->\ \[Help)
      | (?:Error|ERROR)$ | Errors?:?\s*\d* $ | .{0,3}\d+\ of\ \d+\ .*failed
      | fatal:\ Could\ not\ read\ from\ remote | Husky )""",
    re.VERBOSE,
)
# These lines are never the error: progress, banners, frames of stacks, and what passed.
NOISE_LINE = lazy_pattern(
    r"""(?: \#\ \.?/ | \#\ \S+/\S+$ | \$\  | >\  (?!\S+\ >) | =={1,} | --{2,} | ━+
      | at\ \S+.*[(:]\d | at\ <
      | -->\  | [^✗✘✖×✕]{0,80}\ ✓(?:\ |$) | yarn\ run\ v
      | On\ branch\ \S+$ | Your\ branch\b | \d+:\d+\s+Warning:\ 
      | Scope:\ all\ \d | Lockfile\ is | Already\ up | Packages:\ [+-] | Progress:\ | Done\ in\ \d
      | \S+\ ━{3,} | failed\ in\ sandbox[^:]{0,60}:$
      | npm\ (?:warn|notice|WARN) | (?i:warning|warn|info|debug|note|help)\b[:\ \]]
      | .{0,200}\ -\ warning[:\ ] | Usage: | usage: | hint:\  | \(pass\)
      | ok\b | ✓ | √ | ✔ | PASS\b | \d+\ (?:pass|passed|passing|skip|skipped|issues?)\b
      | [^\t]{1,120}\t(?:pass|pending|skipping|success|queued|in_progress)\t
      | error:\ interrupted$ | \(no\ output\) | \(Bash\ completed\ with\ no\ output
      | (?:Ubuntu|Debian|Fedora|CentOS|Alpine|AlmaLinux|Rocky)\ [\w/ .-]{0,20}\d[\w. ()-]*$
      | Error\ Context:\  | \d+\ (?:did\ not\ run|flaky)\b | Last\ login:\ 
      | Welcome\ to\ (?:Ubuntu|Debian|Alpine)
      | 0\ (?:errors?|fail|failed|issues) | \d+\ warnings?
      | (?:Chunk\ ID|Wall\ time|Original\ token|Process\ exited)
      | Output:$ | (?:Error|Signal):\ \(none\)$ | Total\ output\ lines
      | Exit\ [Cc]ode:?\ -?\d+ | \[?exit\ code | Traceback\ \(most
      | File\ "[^"]+",\ line\ \d | ^[{}\[\]().,;]+$ | \d+\ \| | \d+\ │ | │ | ╭ | ╰ | \^ | ~+$ | i[ ]
      | [^:]{0,60}\[\d+/\d+\]
      | Checked\ \d | Ran\ \d | (?:\d+\ )?expect\(\) | Script\ (?:completed|failed|running)
      | Checking\  | Downloading | Compiling | \w*exit\w*[=:]\ ?0$ | No\ local\ changes
      | Finished\ in\  | \[[\w:.-]+\]\ (?:\$\ |Finished\ in) | \d+\s*[+-]\s | \d+→ )""",
    re.VERBOSE,
)
