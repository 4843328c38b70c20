"""Programs that run tests, and programs that only start another program.

The tables map the name of a program to the arguments that must follow it. Names are as
``program_name`` returns them: without directory, version and ``.exe``.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern

NO_FLAGS: frozenset[str] = frozenset()


class Runner(NamedTuple):
    """How to tell from its arguments whether a program runs tests.

    It does if its first word that is no flag matches ``word``; with ``anywhere``, if any word
    matches. Without ``word``, it always does. It runs no tests if that first word or any flag
    matches ``not_when``. Flags in ``valued`` have their value in the next word.
    """

    word: re.Pattern[str] | None = None
    anywhere: bool = False
    valued: frozenset[str] = NO_FLAGS
    not_when: re.Pattern[str] | None = None

    def runs(self, arguments: Sequence[str]) -> bool:
        if any(map(_NO_RUN.match, arguments)):
            return False
        words = list(without_values(arguments, self.valued))
        first = next(filter(_is_plain, words), "")
        if self.not_when and any(map(self.not_when.fullmatch, [first, *filter(_is_flag, words)])):
            return False
        return self.word is None or any(
            map(self.word.fullmatch, words if self.anywhere else [first])
        )


class Wrapper(NamedTuple):
    """A program that starts another one, such as ``timeout 5 pytest``.

    The name of the other program comes after the flags of the wrapper and ``operands`` further
    words. Flags in ``valued`` have their value in the next word. ``becomes`` is the name of the
    other program if it is not written out: ``npm run test`` becomes ``npm test``.
    """

    valued: frozenset[str] = NO_FLAGS
    operands: int = 0
    becomes: str | None = None

    def unwrapped(self, arguments: Sequence[str]) -> list[str]:
        start = after_flags(arguments, self.valued)
        for _ in range(self.operands):
            start += 1 + after_flags(arguments[start + 1 :], self.valued)
        return [self.becomes, *arguments[start:]] if self.becomes else list(arguments[start:])


def program_name(word: str) -> str:
    """Return the plain name of a program: ``jest`` for ``./node_modules/.bin/jest`` and
    ``jest@29``, ``gradlew`` for ``gradlew.bat``."""
    return _EXTENSION.sub("", re.split(r"[/\\]", word)[-1].partition("@")[0])


def without_values(words: Sequence[str], valued: frozenset[str]) -> Iterator[str]:
    """Yield the words of a command without the values of the flags in ``valued``."""
    remaining = iter(words)
    for word in remaining:
        yield word
        if word in valued:
            next(remaining, None)


def after_flags(words: Sequence[str], valued: frozenset[str]) -> int:
    """Return the index of the first word that is neither a flag nor the value of a flag in
    ``valued``."""
    index = 0
    while index < len(words) and _is_flag(words[index]):
        index += 2 if words[index] in valued else 1
    return index


def _is_flag(word: str) -> bool:
    # `cargo +nightly test` names its toolchain in a flag that starts with a plus.
    return word.startswith(("-", "+"))


def _is_plain(word: str) -> bool:
    return not _is_flag(word)


_EXTENSION = lazy_pattern(r"\.(?:exe|cmd|bat|[cm]?js)$")
# Options with which a test program only lists, compiles or explains, and runs no test.
_NO_RUN = lazy_pattern(
    r"--(?:list(?:$|[-=A-Z])|(?:listenvs|collect-?only|co|no-run|dry-run|show-only|fixtures"
    r"|markers|setup-plan|showConfig|clearCache|init|version|help)$)|-h$"
)


def _flags(flags: str) -> frozenset[str]:
    return frozenset(flags.split())


def _runner(word: str = "", valued: str = "", not_when: str = "", anywhere: bool = False) -> Runner:
    return Runner(
        lazy_pattern(word, re.DOTALL) if word else None,
        anywhere,
        _flags(valued),
        lazy_pattern(not_when) if not_when else None,
    )


_BARE = _runner()
_TEST = _runner("test")
_SCRIPT = r"test[:\w-]*"
_MAVEN = _runner(
    r"(?:[\w.-]+:)*(?:test|verify)",
    "-pl -f -P -s -rf",
    r"-D(?:skipTests|maven\.test\.skip).*",
    True,
)
_GRADLE = _runner(
    r"(?!-|.*(?:compile|assemble|process)[A-Z]|.*testClasses$).*[tT]est.*",
    "-x --exclude-task -p --project-dir -b --build-file -c --settings-file -I --init-script -g",
    "-m",
    True,
)
_MAKE = _runner(r"(?:[\w.]+-)*(?:test|check)s?|tests?[-_:/.].*", "-C -f -I -o -W", "-n", True)
# Any recipe with "test" in its name, but not as the end of "latest".
_RECIPE = r"(?:.*(?<!la))?[tT]est.*"
_MONOREPO = _runner(r"(?:[\w@/-]+:)?test[:\w-]*|--targets?=.*\btest\b.*", "--filter -F", "", True)
_XCODE = "-scheme -project -workspace -destination -configuration -sdk -target -testPlan"

RUNNERS: dict[str, Runner] = {
    **dict.fromkeys(("pytest", "py.test", "jest", "mocha", "ava", "gotestsum"), _BARE),
    **dict.fromkeys(("rspec", "phpunit", "pest", "bats", "busted", "nose2"), _BARE),
    "paratest": _BARE,
    **dict.fromkeys(("python -m pytest", "python -m unittest", "python -m doctest"), _BARE),
    **dict.fromkeys(("python -m nose2", "python -m tox", "node --test"), _BARE),
    **dict.fromkeys(("manage.py", "django-admin", "python -m django", "artisan", "mix"), _TEST),
    **dict.fromkeys(("deno", "flutter", "dart", "forge", "hardhat", "playwright"), _TEST),
    **dict.fromkeys(("swift", "bazel", "bazelisk", "buck2", "pants", "gleam", "lein"), _TEST),
    **dict.fromkeys(("stack", "cabal", "anchor", "cross", "react-scripts", "ng", "detox"), _TEST),
    **dict.fromkeys(("composer", "rushx"), _runner(_SCRIPT)),
    "dune": _runner("test|runtest"),
    "meson": _runner("test", "-C"),
    "vp": _runner("test"),
    "tox": _runner(not_when="-l|list|config|devenv"),
    "nox": _runner(not_when="-l"),
    "vitest": _runner(not_when="list|init"),
    "ctest": _runner(not_when="-N"),
    "ginkgo": _runner(not_when="bootstrap|generate|build|outline|labels|unfocus|version|help"),
    "go": _runner("test", "-C", "-c|--?list.*"),
    "cargo": _runner("test|t", "-C -Z --config --color"),
    "nextest": _runner("run|r"),
    "dotnet": _runner("test", not_when="-t"),
    "zig": _runner("test", anywhere=True),
    "xcodebuild": _runner("test|test-without-building", _XCODE, anywhere=True),
    "cypress": _runner("run"),
    "npm": _runner(_SCRIPT, "--prefix -C -w --workspace"),
    "pnpm": _runner(_SCRIPT, "--dir -C -F --filter"),
    "yarn": _runner(_SCRIPT, "--cwd"),
    "bun": _runner(_SCRIPT, "--cwd -F --filter"),
    "turbo": _MONOREPO,
    "nx": _MONOREPO,
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), _MAVEN),
    **dict.fromkeys(("gradle", "gradlew"), _GRADLE),
    "sbt": _runner(r"(?:.*[/:;\s])?test(?:Only|Quick)?(?:\s.*)?", anywhere=True),
    "rails": _runner(r"test(?::.*)?"),
    "rake": _runner(r"(?:test|spec)(?::.*)?", "-f -I -R", "-T", anywhere=True),
    **dict.fromkeys(("make", "gmake"), _MAKE),
    "just": _runner(_RECIPE, "-f --justfile -d --working-directory --set", "-n"),
    "task": _runner(_RECIPE, "-d --dir -t --taskfile"),
    "mise": _runner(rf"{_RECIPE}|(?:.*:)?check"),
}

_COMPOSE = "-f --file -p --project-name --profile --env-file --project-directory"
_CONTAINER = (
    f"{_COMPOSE} -e --env -w --workdir -u --user -v --volume --name --publish --network"
    " --entrypoint -m --memory --cpus --platform --mount -l --label --index"
)
_UV = (
    "--extra --group --with --with-requirements --with-editable -p --python --project --directory"
    " --env-file --package --index --only-group --no-group --config-file"
)
_PLAIN = Wrapper()

# Words before a command that can start any command, even an unknown wrapper.
PREFIXES: dict[str, Wrapper] = {
    **dict.fromkeys(("if", "then", "elif", "else", "while", "until", "do", "!", "{"), _PLAIN),
    **dict.fromkeys(("nohup", "exec", "caffeinate"), _PLAIN),
    **dict.fromkeys(("timeout", "gtimeout"), Wrapper(_flags("-s --signal -k"), operands=1)),
    "time": Wrapper(_flags("-f -o")),
    "sudo": Wrapper(_flags("-u -g -C -D")),
    "env": Wrapper(_flags("-u --unset -C --chdir")),
    "nice": Wrapper(_flags("-n")),
    "stdbuf": Wrapper(_flags("-i -o -e")),
    "xvfb-run": Wrapper(_flags("-s -n -e -f")),
    "xargs": Wrapper(_flags("-n -P -I -L -d -a -s")),
}

# Programs that start a program or script. In a name of two words, the second is the first argument
# that is no flag: "uv run".
WRAPPERS: dict[str, Wrapper] = {
    **dict.fromkeys(("npx", "bunx", "pnpx", "uvx"), Wrapper(_flags("-p --package -w --from"))),
    **dict.fromkeys(("npm exec", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx"), _PLAIN),
    **{
        f"{name} {verb}": Wrapper(RUNNERS[name].valued, becomes=name)
        for name in ("npm", "pnpm", "yarn", "bun")
        for verb in ("run", "run-script")
    },
    **{name: Wrapper(RUNNERS[name].valued) for name in ("pnpm", "yarn", "bun")},
    "yarn workspace": Wrapper(operands=1, becomes="yarn"),
    "deno task": Wrapper(becomes="npm"),
    **dict.fromkeys(("composer run", "composer run-script"), Wrapper(becomes="composer")),
    **dict.fromkeys(("vp run", "vpr"), Wrapper(becomes="npm")),
    **dict.fromkeys(("vp exec", "vp dlx", "vpx"), _PLAIN),
    "uv run": Wrapper(_flags(_UV)),
    **dict.fromkeys(("poetry run", "pdm run", "pipenv run", "hatch run", "rye run"), _PLAIN),
    **dict.fromkeys(("bundle exec", "rbenv exec", "asdf exec", "mise exec", "mise x"), _PLAIN),
    **dict.fromkeys(("mise run", "mise r"), Wrapper(becomes="mise")),
    "pixi run": Wrapper(_flags("-e --environment --manifest-path")),
    "conda run": Wrapper(_flags("-n --name -p --prefix")),
    "cargo nextest": Wrapper(becomes="nextest"),
    "go run": _PLAIN,
    "php": Wrapper(_flags("-d -c")),
    "docker compose": Wrapper(_flags(_COMPOSE), becomes="docker-compose"),
    **{
        f"{name} {verb}": Wrapper(_flags(_CONTAINER), operands=1)
        for name in ("docker", "docker-compose", "podman")
        for verb in ("run", "exec")
    },
    "kubectl exec": Wrapper(_flags("-n --namespace -c --container"), operands=1),
}

# For programs with two-word names: the flags with a value that may stand before the second word.
LEADING_FLAGS: dict[str, frozenset[str]] = {
    **{name: runner.valued for name, runner in RUNNERS.items()},
    "docker-compose": _flags(_COMPOSE),
    "uv": _flags("--project --directory --config-file"),
    "kubectl": _flags("-n --namespace --context"),
}

# Programs whose arguments are names or paths, and which run no other program: `which pytest`.
_TAKES_NAMES = """
    [ . ag alias apt apt-get awk basename bat brew cat cd chmod chown code command cp curl cut
    declare dirname du echo egrep export false fd fgrep file find for gem gh git grep hash head
    help in info jq kill killall less ln local ls man mkdir more mv nano open pgrep pip pip3
    pkill popd printf ps pushd read readlink realpath return rg rm rmdir rsync scp sed set sort
    source stat tail tee test touch tr tree true type unalias uniq unset unzip vi vim wc wget
    whereis which zip
"""
TAKES_NAMES = frozenset(_TAKES_NAMES.split())
