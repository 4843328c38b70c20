"""The quick test before the forms of lines leaves out no line that has a form."""

import pytest

from session_memory.learn.digest.error_lines import CHECKED, error_lines, hidden_errors
from session_memory.learn.digest.likely_lines import likely_lines, may_be_of_check, may_tell
from session_memory.learn.digest.runner_lines import FORMS, HINT

# At least one line of each form, in the order of the forms.
LINES = """
src/a.ts(3,5): error TS2322: Type 'x' is wrong
src/a.ts:3:5 - error TS2322: Type 'x' is wrong
error TS18003: No inputs were found
a.py:3:5 - error: "x" is not a known attribute
A.cs(3,5): error CS0103: The name 'x' does not exist
error[E0308]: mismatched types
[ERROR] /src/A.java:[12,8] ';' expected
e: file:///src/A.kt:3:5 Unresolved reference
a.ts:1:1 lint/style/useConst
assist/source/organizeImports
a.ts format ━━━━
12:5  error  'x' is never used  no-unused-vars
12:5  ✖  Unexpected unknown property "x"  property-no-unknown
12:5  ×  Unexpected unknown property "x"  property-no-unknown
x eslint(no-unused-vars): 'a' is declared
! typescript(no-any): any
F401 [*] `os` imported but unused
a.py:1:8: F401 `os` imported but unused
Would reformat: a.py
Diff in src/main.rs:12:
error: Formatting issues found
× Formatter would have printed the following content:
! Formatter would have printed the following content:
! The imports and exports are not sorted.
Diff in src/main.rs at line 12:
[warn] a.ts
E   AssertionError: 1 == 2
E   assert 1 == 2
FAILED tests/test_a.py::test_add - assert 1 == 2
ERROR tests/test_a.py
(fail) adds [0.2ms]
--- FAIL: TestAdd
FAIL  a.test.ts > adds
● sum › adds
test tests::adds ... FAILED
rspec ./a_spec.rb:3 # adds
not ok 3 - adds
ERROR: test_adds (tests.A)
1) [chromium] › tests/cart.spec.ts:12:3 › Cart › adds a basket
1) Adds two numbers
ERR_PNPM_NO_MATCHING_VERSION  No version
npm ERR! code E404
npm error 404 Not here
make: *** No rule to make target 'x'
! [rejected] main -> main
Unknown JSON field: "threads"
The previous cherry-pick is now empty, possibly due to conflict resolution.
CONFLICT (content): Merge of a.py
PHP Parse error:  unexpected token
a.rb:3:in `add': undefined method (NoMethodError)
zsh:1: command not found: gh
bash: line 3: x: unbound variable
zsh:1: unmatched "
zsh: bad pattern: [x
bash: -c: line 1: unexpected end of file
deploy.sh: line 4: oops
/bin/sh: 1: oops
ls: a: Is a directory
a.c:3:5: error: expected ';'
vet: a.go:3:5: undefined: x
Uncaught TypeError: x
SystemExit: 2
KeyboardInterrupt
ThreadPanic: x
a.go:3: undefined: x
panic: runtime
thread 'main' panicked at a.rs
fatal: not a git repository
app: error: x
ERROR in a.ts
curl: (7) x
ssh: Could not x
git@host: Permission x
✗ adds
✖ adds
X Failed x
Error something
mise ERROR Config files are bad
Type error: x
* What went wrong:
main.c:(.text+0x5): undefined reference to `x'
src/a.ts (0ms)
spawn x ENOENT, y
Connection timed out
it did not work
you can't
FAILED: a b
""".strip().split("\n")


@pytest.mark.parametrize("line", LINES)
def test_a_line_with_a_form_is_likely(line: str) -> None:
    assert likely_lines([line]) == [0]
    assert likely_lines(["a", "b İ", line, "c"]) == [2]


@pytest.mark.parametrize("line", LINES)
def test_only_hints_are_left_out(line: str) -> None:
    form = next(form for form in FORMS if form.pattern.match(line))
    if form.grade > HINT:
        assert likely_lines([line], hints=False) == [0]
        assert may_tell(line, hints=False)


def test_every_form_is_tried() -> None:
    tried = [[form for form in FORMS if form.pattern.match(line)] for line in LINES]
    assert not [form for form in FORMS if not any(form in forms for forms in tried)]


def test_a_line_of_a_check_may_be_one() -> None:
    for line in LINES:
        form = next(form for form in FORMS if form.pattern.match(line))
        if form.tool and form.about in CHECKED:
            assert may_be_of_check(line), line


def test_lines_that_say_nothing_are_not_likely() -> None:
    assert likely_lines(["all is well", "12 files"]) == []
    assert not may_be_of_check("all is well\n12 files\n")
    assert hidden_errors("Traceback\nTypeError: x\nall is well") == []
    assert hidden_errors("x\nerror: y") == error_lines("x\nerror: y") != []
