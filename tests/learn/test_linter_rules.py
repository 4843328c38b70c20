"""Errors of one linter rule are one pattern, whatever names their messages contain."""

import pytest

from session_memory.learn.advice import advice
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.lesson_text import lesson_text
from session_memory.learn.patterns import patterns
from session_memory.testing.claude import ClaudeHome, call

from .sessions import analyzed

CART = "/home/mira/code/app/src/cart.ts"
SAID = """\
$ biome check
src/cart.ts:3:7 lint/correctness/noUnusedVariables ━━━━━━━━

  × This variable {name} is unused.

Found 1 error.
"""


@pytest.mark.only("sqlite")
def test_one_rule_is_one_pattern_and_an_edit_of_the_file_it_names_is_no_lesson(
    claude: ClaudeHome,
) -> None:
    for name in ("total", "price", "count"):
        log = claude.session(name)
        log.prompt("tidy the cart")
        log.run("bun run lint", SAID.format(name=name), exit_code=1)
        log.answer(call("Edit", file_path=CART, old_string=f"let {name} = 1", new_string=""))
        log.result("updated")
        log.run("bun run lint", "Checked 12 files. No fixes applied.")
        log.answer("Done.")
    with analyzed(claude.write()) as store:
        (found,) = [one for one in patterns(store) if one.type == "recurring_error"]
        assert (found.sessions, found.only_repo) == (3, "app")
        assert found.detail == ("lint/correctness/noUnusedVariables: This variable … is unused.")
        assert [(fix.kind, fix.text, fix.sessions) for fix in found.resolutions] == [
            ("edit", CART, 3)
        ]
        assert advice(found).endswith("What helped, quoted from a log: an edit of `src/cart.ts`.")
        assert lesson_text(store, found).text == ""


def test_an_error_of_the_compiler_that_a_linter_passes_on_is_no_rule() -> None:
    one = fingerprint("x typescript(TS2339): Property 'total' does not exist on type 'Cart'.")
    other = fingerprint("x typescript(TS2339): Property 'price' does not exist on type 'Item'.")
    assert one != other
    assert fingerprint("x eslint(no-var): a") == fingerprint("x eslint(no-var): b")
