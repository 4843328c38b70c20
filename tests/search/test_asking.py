"""Questions to a store: what is found, why, how much of it, and in which order."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from session_memory.core.errors import InvalidRecord, InvalidTime, UnknownSession
from session_memory.core.index_words import folded, words_in
from session_memory.demo import demo_home
from session_memory.search import Filters, find_hits, parse
from session_memory.store import Store, open_store
from session_memory.store.hits import Hit
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, thinking
from session_memory.testing.collecting import collect, collected, new_store
from session_memory.views.search import search

from .asking import NOW, asked, found, hits_as_given, said

pytestmark = pytest.mark.every(9)  # Its cases give a server the same statements.


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions about webhooks, and one about something else on another branch."""
    claude = ClaudeHome(tmp_path_factory.mktemp("asked") / "home")
    first = claude.session("alpha")
    first.prompt("Fix the webhook signature check")
    first.answer(
        thinking("The signature is computed over the raw body."),
        call("Bash", command="grep -rn verify_signature src/auth/tokens.py"),
    )
    first.result("src/auth/tokens.py:42: def verify_signature(body):\nrate limit: none")
    first.answer("The rate limit is fine; verifySignature was called twice.")
    first.custom_title("Webhook signatures")
    second = claude.session("beta")
    second.prompt("Why does the café app time out?")
    second.answer("I look.", call("Read", file_path="/home/mira/code/app/src/timeouts.py"))
    second.result("DEFAULT_TIMEOUT = 30  # 认证超时")
    second.answer("It waits for the webhook.", model="claude-sonnet-5")
    third = claude.session("gamma")
    third.run("pytest -q", "1 failed", exit_code=1)
    third.prompt("limit the rate", gitBranch="other")
    return claude.write()


@pytest.fixture
def store(home: Path, collected_once: Callable[[Path], Store]) -> Store:
    return collected_once(home)


def sessions(store: Store, text: str, **filters: object) -> set[str]:
    return {uid.partition(":")[2] for uid, _ in found(store, text, **filters)}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("webhook", {"alpha", "beta"}),
        ("WEBHOOK", {"alpha", "beta"}),
        ("webhook signature", {"alpha"}),
        ("webhook pytest", set()),
        ("cafe", {"beta"}),
        ("CAFÉ", {"beta"}),
        ("认证", {"beta"}),
        ("证认", set()),
        ("超时", {"beta"}),
        ('"rate limit"', {"alpha"}),
        ('"limit the rate"', {"gamma"}),
        ('"webhook signatures"', {"alpha"}),
        ('"signatures webhook"', set()),
        ("webh*", {"alpha", "beta"}),
        ("*ebhoo*", {"alpha", "beta"}),
        ("*erifysig*", {"alpha"}),
        ("verify_signature", {"alpha"}),
        ("verify-signature", set()),
        ("src/auth/tokens.py:42", {"alpha"}),
        ("auth/tokens", {"alpha"}),
        ("uth/tokens.p", {"alpha"}),
        ("DEFAULT_TIMEOUT", {"beta"}),
        ("webhook -signature -signatures", {"beta"}),
        ('limit -"rate limit"', {"gamma"}),
        ("limit -*imi*", set()),
        ("webhook -verify_signature", {"alpha", "beta"}),
        ("grep", {"alpha"}),
        ("cmd:grep", {"alpha"}),
        ("cmd:webhook", set()),
    ],
)
def test_a_question_finds_these_sessions(store: Store, question: str, expected: set[str]) -> None:
    assert sessions(store, question) == expected


@pytest.mark.parametrize(
    ("inline", "filters", "expected"),
    [
        ("flavor:claude", {"flavors": ("claude",)}, {"alpha", "beta"}),
        ("flavor:codex", {"flavors": ("codex",)}, set()),
        ("repo:app", {"repos": ("app",)}, {"alpha", "beta"}),
        ("repo:a*", {"repos": ("a*",)}, {"alpha", "beta"}),
        ("repo:other", {"repos": ("other",)}, set()),
        ("model:sonnet", {"models": ("sonnet",)}, {"beta"}),
        ("model:claude*5", {"models": ("claude*5",)}, {"beta"}),
        ("-model:sonnet", {"without": (("model", "sonnet"),)}, {"alpha"}),
        ("-repo:other", {"without": (("repo", "other"),)}, {"alpha", "beta"}),
        ("-repo:a*", {"without": (("repo", "a*"),)}, set()),
        ("-kind:user_msg", {"without": (("kind", "user_msg"),)}, {"beta"}),
        ("kind:user_msg", {"kinds": ("user_msg",)}, {"alpha"}),
        ("kind:tool_call", {"kinds": ("tool_call",)}, set()),
        ("outcome:unknown", {"outcomes": ("unknown",)}, {"alpha", "beta"}),
        ("outcome:fail", {"outcomes": ("fail",)}, set()),
        ("branch:main", {"branches": ("main",)}, {"alpha", "beta"}),
        ("branch:other", {"branches": ("other",)}, set()),
        ("session:beta", {"sessions": ("claude:beta",)}, {"beta"}),
        ("class:message", {"classes": ("message",)}, {"alpha", "beta"}),
        ("class:title", {"classes": ("title",)}, set()),
        ("class:output", {"classes": ("output",)}, set()),
        ("since:2026-07-01", {"since": 1_782_864_000_000}, {"alpha", "beta"}),
        ("since:2026-07-02", {"since": 1_782_950_400_000}, set()),
        ("until:2026-06-30", {"until": 1_782_864_000_000}, set()),
        ("until:2026-07-02", {"until": 1_783_036_800_000}, {"alpha", "beta"}),
    ],
)
def test_filters_narrow_down_as_options_and_in_the_question(
    store: Store, inline: str, filters: dict[str, object], expected: set[str]
) -> None:
    assert sessions(store, f"webhook -signatures {inline}") == expected
    assert sessions(store, "webhook -signatures", **filters) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("tool:Bash", {"alpha", "gamma"}),
        ("tool:Read file:timeouts", {"beta"}),
        ("file:timeouts.py", {"beta"}),
        ("kind:error", {"gamma"}),
        ("kind:test_run", {"gamma"}),
        ("kind:error -failed", set()),
        ("kind:tool_result -rate", {"beta", "gamma"}),
        ("branch:other class:message", {"gamma"}),
        ("", set()),
        ("-webhook", set()),
    ],
)
def test_without_words_events_are_found_by_what_they_are(
    store: Store, question: str, expected: set[str]
) -> None:
    assert sessions(store, question) == expected


def test_a_wrong_field_says_so(store: Store) -> None:
    with pytest.raises(InvalidRecord, match="unknown class"):
        asked(store, "webhook class:nonsense")
    with pytest.raises(InvalidTime):
        asked(store, "webhook since:never")
    with pytest.raises(UnknownSession):
        asked(store, "webhook session:nobody")


def test_classes_and_reasons_tell_where_it_stands(store: Store) -> None:
    result = {(hit.name, hit.why) for hit in asked(store, "signature*").hits}
    assert result == {
        ("title", "the title has signature*"),
        ("message", "a prompt has signature*"),
        ("message", "a thought has signature*"),
        ("summary", "a note has signature*"),
        ("call", "a call of Bash has signature*"),
        ("output", "what a tool printed has signature*"),
    }


def test_the_best_come_first(store: Store) -> None:
    names = [hit.name for hit in asked(store, "signature*").hits]
    assert names == ["title", "message", "message", "summary", "call", "output"]
    assert asked(store, "signature*").hits[1].why.startswith("a prompt")
    scores = [hit.score for hit in asked(store, "signature*").hits]
    assert scores == sorted(scores, reverse=True)


def test_a_word_inside_others_is_looked_for_when_nobody_uses_it_alone(store: Store) -> None:
    results = asked(store, "ysign")
    assert results.expanded == {"ysign": ("verifysignature",)}
    assert sessions(store, "ysign") == {"alpha"}
    assert results.hits[0].snippet.marks


def test_words_like_a_mistyped_one_are_offered(store: Store) -> None:
    results = asked(store, "webhokk")
    assert (results.total, results.meant) == (0, {"webhokk": ["webhook"]})
    assert not asked(store, "webhook").meant


def test_a_page_and_all_of_it_have_the_same_total(store: Store) -> None:
    whole = asked(store, "signature*")
    page = asked(store, "signature*", limit=2)
    assert (page.total, page.total_exact, len(page.hits)) == (whole.total, True, 2)
    assert page.hits == whole.hits[:2]


def test_hits_are_grouped_by_session_with_what_leads_to_it(store: Store) -> None:
    results = asked(store, "webhook")
    first = results.sessions[0]
    assert (first.session.uid, first.title, first.name) == (
        "claude:alpha",
        "Webhook signatures",
        "alpha",
    )
    assert sum(len(one.hits) + one.more for one in results.sessions) == len(results.hits)


def test_a_copy_is_found_once_in_the_session_that_owns_it(claude: ClaudeHome) -> None:
    log = claude.session("alpha")
    log.prompt("an unusual zanzibar")
    log.answer("seen")
    fork = claude.fork(log, "beta")
    fork.prompt("go on")
    with collected(claude.write()) as store:
        assert sessions(store, "zanzibar", classes=("message",)) == {"alpha"}
        assert sessions(store, "zanzibar", classes=("title",)) == {"alpha", "beta"}


# ---------------------------------------------------------------- much noise


def noisy(claude: ClaudeHome, times: int = 120) -> ClaudeLog:
    """A word that a person said once, long ago, and that tools print all the time."""
    old = claude.session("old")
    old.prompt("the needle is here")
    old.custom_title("A needle")
    new = claude.session("new")
    for number in range(times):
        new.run(f"look {number}", f"needle {number} needle")
    return new


def test_a_title_and_a_prompt_stand_above_any_amount_of_tool_output(claude: ClaudeHome) -> None:
    noisy(claude)
    with collected(claude.write()) as store:
        results = asked(store, "needle", limit=5)
        assert [hit.name for hit in results.hits[:2]] == ["title", "message"]
        assert (results.total, results.total_exact) == (123, True)
        assert asked(store, "needle", limit=5, classes=("output",)).total == 120


def test_a_filter_finds_what_lies_below_thousands_of_others(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are looked at first, but not only those."""
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "AT_ONCE", 10)
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "COMPARED", 10)
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "LOOKED_AT", 20)
    early = claude.session("early")
    early.run("look", "needle in a haystack", cwd="/home/mira/code/barn")
    early.prompt("and now?")
    noisy(claude, times=60)
    with collected(claude.write()) as store:
        for question in ("needle session:early", '"a haystack"', "needle session:early haystack"):
            results = asked(store, question, limit=1)
            assert [hit.session_uid for hit in results.hits] == ["claude:early"], question
        some = asked(store, "needle tool:Bash", limit=2)
        assert len(some.hits) == 2
        assert some.total >= 2
        phrase = asked(store, '"needle 1"', limit=1)
        assert len(phrase.hits) == 1


def test_a_part_of_very_many_words_says_that_there_may_be_more(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.search.expansion.MOST_WORDS", 5)
    log = claude.session("alpha")
    for number in range(9):
        log.prompt(f"xword{number}x")
    log.prompt("plain")
    with collected(claude.write()) as store:
        assert not asked(store, "*word*").total_exact
        assert said(store, "plain -*word*") == ["plain"]
        assert not said(store, "xword8x -*word*")


# ---------------------------------------------------------------- both databases alike

QUESTIONS = (
    *("the", "error", "file", "test*", "*ing*", "in -the", '"the file"', "src/", "self.assert"),
    *("a.b", "42", "0", "é", "日本", "tool:Bash error", "kind:error", "class:title fix", "fix"),
    *("-", "-the", "json -*or*", "model:opus the", "since:2020-01 until:2027-01 the"),
)


@pytest.mark.only("postgresql")
def test_the_databases_find_the_same(tmp_path: Path) -> None:
    data = Path(__file__).parent.parent / "data"
    roots = [demo_home(), *sorted(data.glob("*/*/home"))[::2]]
    with new_store() as one, open_store(tmp_path / "other.db", durability="normal") as other:
        for root in roots:
            for store in (one, other):
                collect(store, root)
        assert dict(one.index.terms_from("")) == dict(other.index.terms_from(""))
        assert dict(one.index.title_terms()) == dict(other.index.title_terms())
        for question in QUESTIONS:
            assert found(one, question) == found(other, question), question
            assert hits_as_given(one, question) == hits_as_given(other, question), question


def test_a_phrase_of_very_common_words_is_not_looked_for_without_end(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two short words are in nearly every text, and each text has to be read."""
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "COMPARED", 5)
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "MOST_COMPARED", 20)
    log = claude.session("alpha")
    log.prompt("the title")
    log.prompt("here is a.b")
    for number in range(60):
        log.prompt(f"b and a {number}")
    with collected(claude.write()) as store:
        few = asked(store, "a.b", limit=5)
        assert (few.total, few.total_exact) == (0, False)
        every = asked(store, "a.b", limit=0)
        assert (every.total, every.total_exact) == (1, True)


def test_words_with_a_hyphen_are_found_among_very_common_words_without_reading_many_texts(
    claude: ClaudeHome,
) -> None:
    log = claude.session("alpha")
    log.prompt("a b to do")
    log.prompt("here is a-b to do")
    for number in range(60):
        log.prompt(f"a b, a - b, to do, a--b {number}")
    with collected(claude.write()) as store:
        read: list[Hit] = []

        def text_of(hit: Hit) -> str:
            read.append(hit)
            return hit.summary

        for question, total in (("a-b", 1), ("A-B", 1), ("to-do", 0), ("a-b -to-do", 1)):
            answer = find_hits(
                store, parse(question), Filters(), text_of=text_of, now=NOW, limit=20
            )
            assert (answer.total, answer.total_exact) == (total, True), question
        assert len(read) <= 3


@pytest.mark.only("sqlite")
def test_an_exact_text_in_too_many_texts_is_compared_with_each_of_them_once(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was then looked for inside of other words: all words were read, and the texts again."""
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "COMPARED", 5)
    monkeypatch.setattr(sys.modules["session_memory.search.find"], "MOST_COMPARED", 20)
    log = claude.session("alpha")
    for number in range(60):
        log.prompt(f"to be or into be {number}")
    with collected(claude.write()) as store:
        read: list[int] = []

        def text_of(hit: Hit) -> str:
            read.append(hit.event_id)
            return hit.summary

        query = parse("to_be")
        answer = find_hits(store, query, Filters(), text_of=text_of, now=NOW, limit=20)
        assert (answer.total, answer.total_exact, answer.expanded) == (0, False, {})
        assert len(read) == len(set(read)) == 20
        find_hits(store, query, Filters(), text_of=text_of, now=NOW, limit=0)
        assert len(set(read)) == 60


HYPHENATED = (
    *("a-b", "schema-build", "schema-build and a b", "a - b", "b-a", "a-B-c", "A-(b)", "é-b a"),
    *("to-do", "photo-documents", "to do", "go-do to", "to-dos and a-b", "a–b", "a_b", "a/b-c"),
    *("1-2", "11-22 1", "--x", "x--y", "a\u00adb", "a-\u0301b", "ﬁ-b", "中-b a", "a-b" * 300),
)


def test_joints_leave_out_no_text_that_has_the_words_and_the_exact_text(
    claude: ClaudeHome,
) -> None:
    log = claude.session("alpha")
    for text in ("title", *HYPHENATED):
        log.prompt(text)
    with collected(claude.write()) as store:
        for question in ("a-b", "to-do", "1-2", "b-c", "i-b", "o-d", "a-b-c", "é-b"):
            first, literal = words_in(question)[0], folded(question)
            having = [text for text in HYPHENATED if literal in folded(text)]
            expected = [text for text in having if first in words_in(text)]
            if not expected and len(first) > 1:
                expected = having
            assert len(found(store, question)) == len(expected), question


@pytest.mark.parametrize("filters", [{}, {"repos": ("app",)}, {"sessions": ("claude:t3",)}])
def test_the_best_of_very_many_titles_are_found_without_reading_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filters: dict[str, tuple[str, ...]]
) -> None:
    claude = ClaudeHome(tmp_path / "home")
    for number in range(9):
        log = claude.session(f"t{number}")
        log.prompt("Hello", timestamp=f"2026-06-{10 + number * 7 % 9:02}T08:00:00.000Z")
        log.custom_title("Invoices again")
    store = collected(claude.write())
    every = asked(store, "invoices", **filters)
    monkeypatch.setattr("session_memory.search.find.MANY_TITLES", 2)
    monkeypatch.setattr("session_memory.search.find.PAGES", 1)
    for limit in (1, 3, 20):
        best = asked(store, "invoices", limit=limit, **filters)
        assert best.hits == every.hits[:limit]
        assert best.total == every.total or not best.total_exact
        assert best.total_exact or filters


@pytest.mark.every(1)
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("w", {"alpha"}),  # Of one letter, words of titles.
        ("we", {"alpha", "beta"}),
        ("webho", {"alpha", "beta"}),
        ("fix the webh", {"alpha"}),
        ("webho ", set()),  # Somebody ended this word.
        ("webhook", {"alpha", "beta"}),
        ("webho sign", set()),  # Only the last word is still typed.
        ("zz", set()),
    ],
)
def test_the_last_word_may_be_a_beginning_while_somebody_types(
    store: Store, typed: str, expected: set[str]
) -> None:
    results = search(store, typed, Filters(), now=NOW, limit=20, widen=False, typed=True)
    sessions = {hit.session_uid.partition(":")[2] for hit in results.hits}
    assert sessions >= expected if len(typed) == 1 else sessions == expected
    assert all(hit.snippet.marks for hit in results.hits)
