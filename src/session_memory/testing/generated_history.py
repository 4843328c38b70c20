"""Generate a git repository in which sessions and a person change files, commit, move and reformat
them, revert, squash and rebase. The author of each line is known."""

import os
import random
import subprocess
from difflib import SequenceMatcher
from pathlib import Path

from session_memory.testing.claude import ClaudeHome, ClaudeLog, call

_VERBS = ("load", "store", "parse", "render", "merge", "check", "count", "split", "join", "fetch")
_NOUNS = ("user", "order", "price", "token", "event", "file", "page", "label", "session", "table")
_START = 1_780_000_000


class WrittenLine:
    """A line and its author: the uid of a session, or None for a person."""

    def __init__(self, text: str, author: str | None) -> None:
        self.text, self.author = text, author


def _kept_where_same(old: list[WrittenLine], new: list[WrittenLine]) -> list[WrittenLine]:
    """Return the new lines. A line that is also in the old ones keeps its author, as in git."""
    merged = list(new)
    before, after = [line.text for line in old], [line.text for line in new]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for one, other, size in matcher.get_matching_blocks():
        merged[other : other + size] = old[one : one + size]
    return merged


class GeneratedRepository:
    """A repository with a generated history, and the logs of the sessions that changed it."""

    def __init__(
        self,
        directory: Path,
        chance: random.Random,
        *,
        shell: float = 0,
        noted: float = 1,
        tags: int = 10_000,
    ) -> None:
        """Create the repository in ``directory``. ``chance`` makes all random choices.

        ``shell`` is the share of whole files that sessions write with a shell command. ``noted`` is
        the share of results that have the text before the change, as Claude Code's do. With few
        ``tags``, several authors write the same lines.
        """
        self.directory, self._chance = directory, chance
        self._shell, self._noted, self._tags = shell, noted, tags
        self.root, self.home = directory / "code" / "demo", directory / "home"
        self.root.mkdir(parents=True)
        self._agents = ClaudeHome(self.home, cwd=str(self.root))
        self._now = _START
        self._files: dict[str, list[WrittenLine]] = {}
        self._number = 0
        self._git("init", "-q", "-b", "main")
        self._person_writes("README.md")
        self._commit("Begin")

    def truth(self) -> dict[str, list[str | None]]:
        """Return for each file the author of each line: the uid of a session, None for a person."""
        return {path: [line.author for line in lines] for path, lines in self._files.items()}

    def live(self, steps: int) -> None:
        acts = (
            (self._session, 12),
            (self._person_edits, 6),
            (self._move, 2),
            (self._reformat, 2),
            (self._revert, 2),
            (self._squash, 1),
            (self._rebase, 1),
        )
        for _ in range(steps):
            act = self._chance.choices([one for one, _ in acts], [weight for _, weight in acts])[0]
            act()
        self._commit("The rest")
        self._agents.write()

    # ------------------------------------------------------------ what sessions do

    def _session(self) -> None:
        self._number += 1
        log = self._agents.session(f"session-{self._number}")
        uid = f"claude:session-{self._number}"
        for _ in range(self._chance.randint(1, 3)):
            self._tick(600)
            self._at(log)
            log.prompt(f"please {self._chance.choice(_VERBS)} the {self._chance.choice(_NOUNS)}")
            for _ in range(self._chance.randint(1, 4)):
                self._agent_changes(log, uid)
            self._tick(20)
            self._at(log)
            log.answer("Done.")
            if self._chance.random() < 0.6:
                self._commit(f"Work {self._number}")

    def _agent_changes(self, log: ClaudeLog, uid: str) -> None:
        self._tick(30)
        self._at(log)
        path = self._some_file()
        if path is None or self._chance.random() < 0.25:
            path = f"src/{self._chance.choice(_NOUNS)}_{self._number}_{len(self._files)}.py"
            self._files[path] = [WrittenLine(text, uid) for text in self._code(3)]
            self._call_to_write(log, path)
        elif self._chance.random() < 0.15:
            lines = self._files[path]
            kept = [line for line in lines if self._chance.random() < 0.8]
            lines[:] = [*kept, *(WrittenLine(text, uid) for text in self._code(1))]
            self._call_to_write(log, path)
        else:
            self._agent_edits(log, uid, path)

    def _agent_edits(self, log: ClaudeLog, uid: str, path: str) -> None:
        lines, before = self._files[path], self._text(path)
        place = self._chance.randrange(len(lines))
        size = min(self._chance.randint(1, 3), len(lines) - place)
        old = "\n".join(line.text for line in lines[place : place + size])
        if before.count(old) != 1 or not old.strip():
            return
        kept = lines[place : place + size] if self._chance.random() < 0.6 else []
        added = [WrittenLine(text, uid) for text in self._code(1)]
        lines[place : place + size] = _kept_where_same(lines[place : place + size], [*kept, *added])
        new = "\n".join(line.text for line in [*kept, *added])
        self._save(path)
        self._call(log, "Edit", file_path=str(self.root / path), old_string=old, new_string=new)

    def _call_to_write(self, log: ClaudeLog, path: str) -> None:
        text, place = self._text(path), self.root / path
        before = place.read_text() if place.exists() else None
        self._save(path)
        if self._shell and self._chance.random() < self._shell:
            self._call(log, "Bash", command=f"cat > {path} <<'EOF'\n{text}EOF")
        elif self._chance.random() >= self._noted:
            self._call(log, "Write", file_path=str(place), content=text)
        else:
            log.answer(call("Write", file_path=str(place), content=text))
            kind = "create" if before is None else "update"
            details = {"type": kind, "filePath": str(place), "content": text}
            log.result("done", details={**details, "originalFile": before})

    def _call(self, log: ClaudeLog, tool: str, **given: str) -> None:
        log.answer(call(tool, **given))
        log.result("done")

    # ------------------------------------------------------------ what a person and git do

    def _person_writes(self, path: str) -> None:
        self._files[path] = [WrittenLine(text, None) for text in self._code(2)]
        self._save(path)

    def _person_edits(self) -> None:
        self._tick(300)
        path = self._some_file()
        if path is None or self._chance.random() < 0.2:
            self._person_writes(f"lib/{self._chance.choice(_NOUNS)}_{len(self._files)}.py")
        else:
            lines = self._files[path]
            place = self._chance.randrange(len(lines) + 1)
            size = min(self._chance.randint(0, 2), len(lines) - place)
            added = [WrittenLine(text, None) for text in self._code(1)]
            lines[place : place + size] = _kept_where_same(lines[place : place + size], added)
            self._save(path)
        if self._chance.random() < 0.7:
            self._commit("By hand")

    def _move(self) -> None:
        path = self._some_file()
        if path is None:
            return
        self._commit("Before the move")
        self._tick(60)
        new = f"moved/{path.replace('/', '_')}"
        (self.root / new).parent.mkdir(exist_ok=True)
        self._git("mv", path, new)
        self._files[new] = self._files.pop(path)
        self._commit("Move a file")

    def _reformat(self) -> None:
        path = self._some_file()
        if path is None:
            return
        self._tick(60)
        for line in self._files[path]:
            stripped = line.text.lstrip(" ")
            depth = (len(line.text) - len(stripped)) // 4
            line.text = "  " * depth + stripped.replace("'", '"') if stripped else ""
        self._save(path)
        self._commit("Reformat")

    def _revert(self) -> None:
        self._commit("Before the revert")
        if self._chance.random() < 0.5:
            return
        path = self._some_file()
        if path is None:
            return
        before = [WrittenLine(line.text, line.author) for line in self._files[path]]
        self._tick(60)
        place = self._chance.randrange(len(before))
        del self._files[path][place : place + 2]
        if not self._files[path]:
            self._files[path] = before
            return
        self._save(path)
        self._commit("Remove lines")
        self._tick(60)
        self._files[path] = before
        self._save(path)
        self._commit('Revert "Remove lines"')

    def _squash(self) -> None:
        self._commit("Before the squash")
        count = int(self._git("rev-list", "--count", "HEAD").strip())
        if count < 5:
            return
        self._tick(60)
        self._git("reset", "--soft", "HEAD~3")
        self._commit("Squashed")

    def _rebase(self) -> None:
        """Give the last commits new hashes and new commit times."""
        self._commit("Before the rebase")
        count = int(self._git("rev-list", "--count", "HEAD").strip())
        if count < 5:
            return
        self._tick(60)
        self._git("rebase", "-q", "--force-rebase", "HEAD~3")

    # ------------------------------------------------------------ tools

    def _code(self, functions: int) -> list[str]:
        lines = []
        for _ in range(functions):
            verb, noun = self._chance.choice(_VERBS), self._chance.choice(_NOUNS)
            tag = self._chance.randrange(self._tags)
            lines += [
                f"def {verb}_{noun}_{tag}({noun}):",
                f"    value = {noun}.{self._chance.choice(_VERBS)}('{tag}')",
                "    if not value:",
                "        return None",
                f"    return {self._chance.choice(_VERBS)}(value, {tag})",
                "",
            ]
        return lines

    def _some_file(self) -> str | None:
        found = sorted(path for path, lines in self._files.items() if lines)
        return self._chance.choice(found) if found else None

    def _text(self, path: str) -> str:
        return "".join(f"{line.text}\n" for line in self._files[path])

    def _save(self, path: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self._text(path))

    def _tick(self, seconds: int) -> None:
        self._now += seconds

    def _at(self, log: ClaudeLog) -> None:
        log.clock.ms = self._now * 1000

    def _commit(self, subject: str) -> None:
        self._tick(10)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", subject)

    def _git(self, *words: str) -> str:
        moment = f"@{self._now} +0000"
        who = {"AUTHOR": "Mira", "COMMITTER": "Mira"}
        own = {f"GIT_{role}_NAME": name for role, name in who.items()}
        own |= {f"GIT_{role}_EMAIL": "mira@example.invalid" for role in who}
        own |= {f"GIT_{role}_DATE": moment for role in who}
        own |= {"HOME": str(self.directory), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env={"PATH": os.environ["PATH"], **own},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
