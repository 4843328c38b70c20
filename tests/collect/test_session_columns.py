"""What a session shows of its log: directory, branch, version, model."""

from session_memory.core.schema import Session
from session_memory.store import Store
from session_memory.testing.claude import MODEL, ClaudeHome
from session_memory.testing.collecting import collect, collected


def session_in(store: Store) -> Session:
    (session,) = store.sessions.every()
    return session


def test_the_first_directory_and_the_last_branch_and_version_are_shown(claude: ClaudeHome) -> None:
    log = claude.session()
    log.prompt("one", gitBranch="main", version="2.1.1")
    with collected(claude.write()) as store:
        session = session_in(store)
        assert (session.cwd, session.git_branch, session.agent_version, session.model) == (
            "/home/mira/code/app",
            "main",
            "2.1.1",
            None,
        )
        log.prompt("two", cwd="/home/mira/elsewhere", gitBranch="fix", version="2.1.2")
        log.answer("done", version="2.1.2", gitBranch="fix")
        collect(store, claude.write())
        session = session_in(store)
        assert (session.cwd, session.git_branch, session.agent_version, session.model) == (
            "/home/mira/code/app",
            "fix",
            "2.1.2",
            MODEL,
        )
