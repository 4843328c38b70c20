"""Wishes: what a person asks for again and again, told from tasks, logs, questions and stories."""

import pytest

from session_memory.core.time import MAX_MS, MIN_MS
from session_memory.learn.digest.wishes import NOT, SHOULD, Wish, wish_words, wishes
from session_memory.learn.patterns import patterns
from session_memory.learn.recurring_wishes import SessionWish, is_told_by, recurring_wishes
from session_memory.store.digests import Digests
from session_memory.testing.claude import ClaudeHome, call, usage

from .sessions import analyzed


def clauses(text: str, *paths: str) -> list[str]:
    return [wish.text for wish in wishes([("e", text)], paths)]


def groups(*prompts: str, days: int = 1, paths: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """How many sessions share a wish, and its wording. Each prompt is a session on its own day."""
    asked = [
        SessionWish(f"s{number}", number * days, wish)
        for number, prompt in enumerate(prompts)
        for wish in wishes([(f"e{number}", prompt)], paths)
    ]
    return [
        (len({one.session_uid for one in group.wishes}), group.text)
        for group in recurring_wishes(asked)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("commit this and update the changelog", ["commit this", "update the changelog"]),
        ("推送。阅读pr模板，完成所有任务", ["推送", "阅读pr模板", "完成所有任务"]),
        ("why does it fail?", []),
        ('it should say "Claude Rule"', ['it should say "Claude Rule"']),
        ('"commit this", and `make check`', ["commit this", "make check"]),
        ('say "stop, then push"', ['say "stop', "push"]),
        ("cover all agents (one, two), then push", ["push"]),
        ("这个是什么意思", []),
        ("I ran it and it failed", []),
        ("We should never push to main", ["We should never push to main"]),
        ("fix it:\n```\nnever do that\n```", ["fix it"]),
        ("- [ ] I have read the guide\nmake check", ["make check"]),
        (
            "Check this change.\n\n=== DIFF: app/page.tsx ===\ndo not delete it",
            ["Check this change"],
        ),
        ("review it\ndiff --git a/x b/x\nuse tabs", ["review it"]),
        ("export const KEYS = [\nconst data = await response.json()", []),
        ('import Server from "./Server"\n"title": "Mark it, then save it"', []),
        ("+ never delete the last row\nreturn total;", []),
        ("look at app/[a]/b.tsx, app/[a]/c.tsx", ["look at app/[a]/b.tsx"]),
        ("push it, also any missing cases", ["push it"]),
        ("also should the cart send the prompt", []),
        ("use a type for the total", ["use a type for the total"]),
        ("return early for an empty list", ["return early for an empty list"]),
        ("# Rules for this work\nrun the linter first", ["run the linter first"]),
        ("/team:plan-phase 13", []),
        ("Option A", []),
        ("oui c'est ok", []),
        ("c'est lent, ajoute un index", []),
        ("npm notice To update run the installer", []),
        ('INFO: 127.0.0.1 - "GET /api"\nTypeError at app.ts:12', []),
    ],
)
def test_a_prompt_is_cut_into_what_it_asks_for(text: str, expected: list[str]) -> None:
    assert clauses(text) == expected


def test_words_of_the_sessions_files_belong_to_its_task() -> None:
    (wish,) = wishes([("e", "redesign the session details header")], ["src/sessionDetails.ts"])
    assert wish == Wish(
        "e",
        "redesign the session details header",
        ("redesign", "session", "detail", "header"),
        ("session", "detail"),
        True,
    )


def test_not_and_should_are_marks() -> None:
    (wish,) = wishes([("e", "You should not add full names")], [])
    assert wish.words == (NOT, "add", "full", "name")
    (wish,) = wishes([("e", "Always run the linter")], [])
    assert wish.words[0] == SHOULD


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        # One word is enough where it begins a prompt, also misspelled.
        (["commit"] * 5 + ["comit", "commit this"], [(7, "commit")]),
        (["commit"] * 2, [(2, "commit")]),
        (["yep"] * 2, []),
        (["a1b"] * 2, []),
        (["commit and push", "commit and push"], [(2, "commit and push")]),
        (["ok commit and push", "yeah, commit and push"], [(2, "commit and push")]),
        (
            [
                "update changelog",
                "now update CHANGELOG.md as well",
                "add it, then update changelog",
            ],
            [(3, "update changelog")],
        ),
        (
            ["use authoritative documentation", "ground it: use authoritative documentation"],
            [(2, "use authoritative documentation")],
        ),
        (["阅读pr模板", "先阅读pr模板，然后提交"], [(2, "阅读pr模板")]),
        # What is asked for stands before the sentence that only points at it.
        (
            ["get rid of one", "Get rid of the old tree view", "get rid of the doubled versions"],
            [(3, "Get rid of the old tree view")],
        ),
        # A name that two tasks share is no wish.
        (["same concept for Zonal Pilot", "we should not show rules for Zonal Pilot"], []),
        # What moves a session on, and what every task has, is no wish.
        (["continue"] * 9, []),
        (["implement the plan"] * 9, []),
        (["add a file", "add the other file", "add one more file"], []),
    ],
)
def test_what_is_asked_for_in_several_sessions_is_found(
    prompts: list[str], expected: list[tuple[int, str]]
) -> None:
    assert groups(*prompts) == expected


def test_what_is_asked_twice_on_one_day_is_one_task() -> None:
    assert groups(*["use authoritative documentation"] * 5, days=0) == []


def test_a_task_on_the_same_files_is_no_wish() -> None:
    prompts = ["redesign the tab marker of the window bar", "make the tab marker of that bar round"]
    assert groups(*prompts, paths=("src/tabMarker.ts", "src/bar.ts")) == []


def test_the_reason_of_a_refusal_is_a_persons_wish(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("look at the parser")
    log.answer(call("Bash", command="git push"), used=usage(9))
    log.reject("first make a separate branch")
    log.answer("Fine.", used=usage(9))
    with analyzed(claude.write()) as store:
        (row,) = Digests(store.db).briefs(MIN_MS, MAX_MS)
    assert "first make a separate branch" in row.directives
    assert "want to proceed" not in row.directives


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        # A polite order is no question.
        (["can you push?", "Could you please push", "push"], [(3, "push")]),
        (["can you tell me why?", "can you explain push?"], []),
        (["do not edit the changelog"] * 2, [(2, "do not edit the changelog")]),
        (["do you edit the changelog", "do we edit the changelog"], []),
        (["kannst du das Changelog ergänzen?", "Changelog ergänzen"], [(2, "Changelog ergänzen")]),
        (["nunca borres migraciones"] * 2, [(2, "nunca borres migraciones")]),
        (["ne modifie pas le schéma"] * 2, [(2, "ne modifie pas le schéma")]),
        (["всегда обновляй журнал изменений"] * 2, [(2, "всегда обновляй журнал изменений")]),
        (["必ずテストを実行して", "必ずテストを実行してください"], [(2, "必ずテストを実行して")]),
        # Polite endings are no words.
        (["ボタンを追加してください", "文書を更新してください", "型を修正してください"], []),
        (["продолжай"] * 4, []),
    ],
)
def test_other_languages_are_understood(
    prompts: list[str], expected: list[tuple[int, str]]
) -> None:
    assert groups(*prompts) == expected


def test_the_task_that_sessions_begin_with_is_no_wish() -> None:
    text = "search google for its latest worlds model"
    for words, first, found in ((text, "e", 0), (text, "other", 1), (f"always {text}", "e", 1)):
        (wish,) = wishes([("e", words)], (), first)
        asked = [SessionWish(f"s{day}", day, wish) for day in range(3)]
        assert len(recurring_wishes(asked)) == found


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("update changelog", "changelog update", True),
        ("use authoritative documentation", "authoritative document", True),
        ("Get rid of the old tree view", "get rid", False),
        ("阅读pr模板", "pr 模板", True),
        ("回到原来的这个问题所在的那个很久以前的分支", "分支", False),
    ],
)
def test_a_wording_that_says_much_more_is_about_one_task(text: str, words: str, told: bool) -> None:
    assert is_told_by(text, words.split()) is told


def test_a_word_and_its_plural_are_one_word() -> None:
    for one, many in (("message", "messages"), ("title", "titles"), ("branch", "branches")):
        assert wish_words(one) == wish_words(many)


def test_two_sessions_that_share_several_wishes_worked_on_one_task() -> None:
    first = "regenerate the client stubs, bump the schema registry"
    assert len(groups(first, f"please {first}")) == 1
    # A third session shows that they are two wishes.
    assert len(groups(first, first, "bump the schema registry")) == 2


def test_things_that_two_sessions_name_in_katakana_are_their_task() -> None:
    one, other = "クライアントのページを作って", "クライアントのページを直して"
    assert groups(one, other) == []
    assert groups("次のマイルストーン何", "次のマイルストーン何ですか") == []


def test_a_word_in_katakana_is_one_word() -> None:
    assert wish_words("リンクを消して") == ("リンク", "消")
    assert groups("リンクを消して", "リンクの色を変えて", "リンク化をやめて") == []


def test_two_letters_that_begin_prompts_are_a_choice_in_a_menu() -> None:
    assert groups("CR", "CR", "CR") == []
    assert groups("deploy", "deploy", "deploy") == [(3, "deploy")]


ROLE = (
    "Stay in your role until the end. Load the whole file of the role {}. Follow its menu exactly."
    " Answer in the words of the role."
)
RULES = "update the changelog. never push to main"
DAY = 86_400_000


def instructions(claude: ClaudeHome, *prompts: str) -> list[str]:
    """The instructions found in one session a day, each with a first request and a prompt."""
    for number, prompt in enumerate(prompts):
        log = claude.session(f"s{number}")
        for words in (f"look at queue {number}", prompt):
            log.prompt(words)
            log.answer("Done.")
        claude.clock.tick(DAY)
    with analyzed(claude.write()) as store:
        found = [one for one in patterns(store) if one.type == "recurring_instruction"]
    return sorted(one.detail for one in found)


def test_the_text_of_a_template_is_no_instruction(claude: ClaudeHome) -> None:
    prompts = (ROLE.format(name) for name in ("baker", "baker", "miller", "miller"))
    assert instructions(claude, *prompts) == []


def test_two_equal_wishes_are_typed_and_no_template(claude: ClaudeHome) -> None:
    found = instructions(claude, RULES, RULES, RULES)
    assert found == ["never push to main", "update the changelog"]
