"""What a list shows as the title of a session is found by ``title=`` and ``--title``.

Case is ignored in one way on both databases: as ``str.casefold`` does it.
"""

from pathlib import Path

import pytest

from session_memory import Memory
from session_memory.core.errors import AmbiguousSession
from session_memory.store.sessions import CollectedSession
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.stores import Stores
from session_memory.views.session_titles import NO_TITLE

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.


def named(memory: Memory, *titles: str | None) -> None:
    with memory.store.transaction():
        for place, title in enumerate(titles):
            native = f"{place:08x}-0000-4000-8000-000000000000"
            row = CollectedSession(
                uid=f"claude:{native}", flavor="claude", native_id=native, title=title
            )
            memory.store.sessions.save(row)


def test_every_title_of_a_list_is_found(stores: Stores) -> None:
    with Memory(stores.place("memory")) as memory:
        memory.sync_demo()
        named(memory, None)
        shown = memory.sessions().listing().titles
        assert any(memory.session(uid).record.title != title for uid, title in shown.items())
        for uid, title in shown.items():
            for part in (title, title.upper(), title[2:], title.split()[-1]):
                found = memory.sessions(title=part)
                assert uid in [one.uid for one in found], part
                assert found.count() == sum(
                    part.casefold() in other.casefold() for other in shown.values()
                )
        assert memory.sessions(title="no session is called so").count() == 0


@pytest.mark.parametrize(
    ("title", "asked"),
    [
        ("300 \u212aelvin", "300 kelvin"),
        ("300 kelvin", "300 \u212aELVIN"),
        ("Straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("ÜBER", "über"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("\u0130stanbul", "\u0130STANBUL"),
        ("title with I", "TITLE WITH i"),
    ],
)
def test_case_is_ignored_in_one_way(stores: Stores, title: str, asked: str) -> None:
    with Memory(stores.place("memory")) as memory:
        named(memory, title, "another one", None)
        assert [one.title for one in memory.sessions(title=asked)] == [title]
        assert memory.session(asked).title == title
        assert memory.session(asked[:6]).title == title
        assert [one.title for one in memory.sessions(title=NO_TITLE)] == [NO_TITLE]


def test_a_dotless_i_is_another_letter(stores: Stores) -> None:
    with Memory(stores.place("memory")) as memory:
        named(memory, "s\u0131n\u0131r", "sinir")
        assert [one.title for one in memory.sessions(title="SINIR")] == ["sinir"]
        assert memory.session("SINIR").title == "sinir"


def test_titles_that_differ_only_in_case_are_several(stores: Stores) -> None:
    with Memory(stores.place("memory")) as memory:
        named(memory, "Straße", "STRASSE")
        assert memory.sessions(title="straSSe").count() == 2
        # Titles in ASCII have an index, so they come first.
        assert memory.session("strasse").title == "STRASSE"
    with Memory(stores.place("other")) as memory:
        named(memory, "ÜBER", "über")
        with pytest.raises(AmbiguousSession):
            memory.session("Über")


def test_a_filter_of_a_search_ignores_case_in_the_same_way(stores: Stores, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd="/home/mira/code/Straße")
    home.session("alpha").prompt("count the lamps")
    home.write()
    with Memory(stores.place("memory")) as memory:
        memory.sync(home.path)
        for repo in ("straße", "STRASSE", "strass*"):
            assert memory.search("lamps", repo=repo).total == 2
            assert memory.sessions(repo=repo).count() == 1
