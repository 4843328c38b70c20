"""Which shell texts run tests, and which edit files."""

import pytest
from effort import times
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quickness import within_cpu_seconds

from session_memory.adapters.detectors import is_test_run, shell_edit
from session_memory.adapters.detectors.shell import EXAMINED, simple_commands

RUNS = [
    # Python
    "pytest",
    "pytest -q tests/unit -k 'not slow'",
    "py.test -x",
    "pytest -c ci/pytest.cfg",
    "python -m pytest",
    "python3 -B -m pytest -q -p no:cacheprovider test_calc.py",
    "python3.12 -X dev -W error -m pytest",
    "/home/dev/venv/bin/python3 -Bm pytest",
    "py -3 -m pytest",
    ".venv/bin/pytest -q",
    "$PYTHON -m pytest",
    '"$(which python3)" -m pytest',
    "python -m unittest discover -s tests",
    "python -m doctest README.md",
    "python -m nose2",
    "python manage.py test shop",
    "./manage.py test",
    "tox -e py312",
    "nox -s tests",
    "coverage run --source src -m pytest",
    "python -m coverage run -m unittest",
    # JavaScript
    "jest",
    "npx jest --coverage",
    "npx -y jest@29 src",
    "npx --package typescript vitest run",
    "./node_modules/.bin/mocha",
    "node node_modules/jest/bin/jest.js",
    "ava --verbose",
    "vitest run list",
    "npx playwright test --project=chromium",
    "npx cypress run",
    "npm test",
    "npm run test",
    "npm run test:unit -- --watch=false",
    "npm --prefix web run test-ci",
    "npm -w api test",
    "pnpm -w test",
    "pnpm --filter @shop/web test",
    "pnpm -r run test",
    "pnpm vitest",
    "yarn test",
    "yarn workspace web test",
    "yarn jest src/a.test.ts",
    "bun test",
    "bun run test",
    "bunx vitest",
    "vp test run src/cart.test.ts -t 'adds up'",
    "vp run test:unit",
    "vpx jest",
    "ng test --watch=false",
    # Other languages
    "composer test",
    "composer run-script test:unit",
    "dune runtest",
    "stack test",
    "meson test -C build",
    "deno test -A",
    "deno task test",
    "node --test",
    "node --import tsx --test src/a.test.ts",
    "turbo run build test --filter web",
    "nx test shop",
    "nx run shop:test",
    "npx nx affected -t test",
    "nx run-many --target=test --all",
    # Go, Rust, JVM, .NET, Apple, others
    "go test ./...",
    "go -C tools test ./...",
    "go test -count=1 -race ./pkg",
    "gotestsum --format dots",
    "go run gotest.tools/gotestsum@latest",
    "ginkgo -r",
    "cargo test",
    "cargo +nightly test list",
    "cargo nextest run",
    "mvn -q -pl core test",
    "./mvnw clean verify",
    "./gradlew test",
    "./gradlew :app:testDebugUnitTest --tests 'FooTest'",
    ".\\gradlew.bat test",
    "sbt 'testOnly shop.CartSpec'",
    "sbt clean core/test",
    "dotnet test src/Shop.sln",
    "swift test",
    "xcodebuild -scheme App -destination 'platform=iOS Simulator' test",
    "zig build test",
    "bazel --output_base=/tmp/b test //...",
    "rspec spec/models",
    "bundle exec rspec",
    "bin/rails test test/models",
    "bundle exec rake spec:models",
    "vendor/bin/phpunit",
    "php -d memory_limit=1G vendor/bin/pest",
    "php artisan test",
    "mix test",
    "ctest --output-on-failure",
    "bats test/",
    "busted",
    "flutter test",
    "dart test",
    "forge test -vvv",
    "npx hardhat test",
    "make test",
    "make -C services -j 4 unit-tests",
    "make check",
    "just test-unit",
    "task backend:test",
    "mise run test",
    "mise run check",
    "mise exec -- go test ./...",
    # Behind something
    "cd app && pytest",
    "cd app; CI=1 FOO='a b' pytest -q 2>&1 | tail -5",
    "sudo -u dev env -u HOME DEBUG=1 time timeout -k 5 60 nice -n 10 pytest",
    "uv run pytest",
    "uv run --extra dev --with pytest-cov -- pytest -q",
    "uv --project app run python -m pytest",
    "poetry run pytest",
    "docker compose run --rm web pytest",
    "docker compose -f ci.yml exec -T -e CI=1 web python -m pytest",
    "docker-compose exec db bats test",
    "docker exec -it app npm test",
    "kubectl exec -n dev pod/app -- pytest",
    "rtk pytest -q",
    "rtk go test ./...",
    "timeout 60 rtk npm test",
    "if pytest; then echo ok; fi",
    "for i in 1 2 3; do pytest -x || break; done",
    "(cd web && npm test)",
    "{ pytest; }",
    "! pytest",
    "git ls-files '*_test.py' | xargs -n 10 pytest",
    "find . -name 'test_*.py' -exec pytest {} +",
    'echo "$(pytest -q | tail -1)"',
    "result=$(go test ./...)",
    "bash -c 'pytest'",
    'bash -lc "cd app && npm test"',
    "sudo sh -c \"bash -c 'make test'\"",
    "git commit -m 'try' && pytest",
    "cat > test_a.py <<'EOF'\ndef test_a(): pass\nEOF\npytest test_a.py",
    "pytest \\\n  -q \\\n  tests",
    "ls # look\npytest",
    "touch x &\npytest",
]

RUNS_NOTHING = [
    "",
    "   ",
    "ls tests",
    "cat pytest.ini",
    "which pytest",
    "command -v pytest",
    "type jest",
    "man tox",
    "pkill pytest",
    "rm -rf jest",
    "pip install pytest",
    "python -m pip install pytest",
    "npm install jest",
    "npm ls jest",
    "yarn add -D vitest",
    "yarn why jest",
    "uv add pytest",
    "poetry run pip install pytest",
    "go install github.com/onsi/ginkgo/v2/ginkgo@latest",
    "npx playwright install chromium",
    "npx create-next-app@latest app",
    "grep -rn pytest .",
    "rg 'npm test' docs",
    "echo pytest",
    "echo 'run pytest; then go test'",
    "printf 'make test\\n'",
    "git commit -m 'pytest passes'",
    'git commit -m "fix: run\npytest\nmake test"',
    "git commit -m \"$(cat <<'EOF'\nIt's done\n\npytest && go test\nEOF\n)\"",
    "git log --grep 'npm test'",
    "git checkout test",
    "gh api repos/o/r/issues -f body='pytest; make test'",
    "gh pr create --body \"$(cat <<'EOF'\n- [x] `pytest`\n\nmake test\nEOF\n)\"",
    "cat <<EOF > run.sh\npytest\nEOF",
    "cat <<-'END'\n\tpytest\n\tEND",
    "cat <<EOF\npytest",
    "python - <<'PY'\nimport pytest\npytest.main()\nPY",
    "python -c 'import pytest; pytest.main()'",
    "python test_thing.py",
    "node run.js --test",
    "# pytest",
    "ls # then; pytest",
    "pytest --collect-only",
    "pytest --co -q",
    "pytest --version",
    "python3 -m pytest --help",
    "npx jest --listTests",
    "npx playwright test --list",
    "go test -c ./pkg",
    "go test -list . ./pkg",
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo nextest list",
    "cargo build --tests",
    "dotnet test --list-tests",
    "ctest -N",
    "tox -l",
    "tox list",
    "vp check --fix",
    "composer install",
    "dune build",
    "vitest list",
    "npm test -- --listTests",
    "bash -c 'go test -c'",
    "npm run build",
    "npm run build:test",
    "npm run latest",
    "go vet ./...",
    "cargo check",
    "mvn package",
    "mvn verify -DskipTests",
    "./gradlew build -x test",
    "./gradlew compileTestJava",
    "make -C test build",
    "make -n test",
    "make latest",
    "make typecheck",
    "just deploy latest",
    "mise install",
    "docker compose up test",
    "docker build -t pytest .",
    "test -f pytest.ini",
    "[ -d jest ] && ls",
    "export PYTEST_ADDOPTS=-q",
    "PYTEST=1",
    "kill $(pgrep -f pytest)",
    "deno run test.ts",
    "rails db:test:prepare",
    "find tests -name '*.py'",
    "bash run_tests.sh",
    "bash -c",
]


@pytest.mark.parametrize("command", RUNS)
def test_a_command_that_runs_tests_is_recognised(command: str) -> None:
    assert is_test_run(command)


@pytest.mark.parametrize("command", RUNS_NOTHING)
def test_a_command_that_only_mentions_tests_is_not_a_run(command: str) -> None:
    assert not is_test_run(command)


EDITS = [
    ("sed -i 's/a/b/' src/a.py", "src/a.py"),
    ("sed -i '' 's/a/b/' src/a.py", "src/a.py"),
    ("sed -i.bak -e 's/a/b/' -e 's/c/d/' a.txt b.txt", "a.txt"),
    ("sed -E -i -f fix.sed a.txt", "a.txt"),
    ("gsed -ni '1,3p' notes", "notes"),
    ("sed --in-place=.bak 's/a/b/' 'my file.txt'", "my file.txt"),
    ("cd app && sudo sed -i 's/a/b/' /etc/hosts && ls", "/etc/hosts"),
    ("for f in *.py; do sed -i 's/a/b/' \"$f\"; done", ""),
    ("grep -rl a . | xargs sed -i 's/a/b/'", ""),
    ("find . -name '*.py' -exec sed -i 's/a/b/' {} +", ""),
    ("perl -pi -e 's/a/b/' a.go", "a.go"),
    ("perl -0777 -i -pe 's/a/b/' a.go", "a.go"),
    ("perl -0pi.bak -e 's/a/b/' a.go b.go", "a.go"),
    ("cat > src/new.py <<'EOF'\nx = 1\nEOF", "src/new.py"),
    ("cat <<EOF >> notes.md\nmore\nEOF\n", "notes.md"),
    ('cat > "$TARGET" <<EOF\nx\nEOF', ""),
    ("cat << 'EOF' | sudo tee /etc/app.conf > /dev/null\nx\nEOF", "/etc/app.conf"),
    ("echo x | tee -a notes.txt", "notes.txt"),
    ("tee /tmp/new.conf <<EOF\nx\nEOF", "/tmp/new.conf"),
    ("apply_patch <<'P'\n*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\nP", "src/a.rs"),
    ("apply_patch '*** Begin Patch\n*** Add File: b.rs\n+b\n*** End Patch'", "b.rs"),
    ("*** Begin Patch\n*** Delete File: c.rs\n*** End Patch", "c.rs"),
    ("apply_patch < fix.patch", ""),
    ("git apply fix.patch", ""),
    ("git -C app apply <<'EOF'\n--- a/x.c\n+++ b/src/x.c\t2026-01-01\nEOF", "src/x.c"),
    ("patch -p1 < fix.patch", ""),
    ("patch -p1 -i fix.patch", ""),
    ("patch -p0 src/x.c fix.patch", "src/x.c"),
    ("patch -p1 <<'EOF'\n--- a/x.c\n+++ b/x.c\nEOF", "x.c"),
    ("bash -lc \"sed -i 's/a/b/' a.py\"", "a.py"),
    ("git apply fix.patch && sed -i 's/a/b/' a.py", "a.py"),
]

EDITS_NOTHING = [
    "",
    "ls",
    "sed -n '1,20p' a.py",
    "sed 's/a/b/' -e i a.py",
    "perl -ne 'print if /i/' a.py",
    "perl -Mstrict -e 'print 1'",
    "cat a.py",
    "cat a.py > b.py",
    "cat <<EOF\nx\nEOF",
    "cat > /dev/null <<EOF\nx\nEOF",
    "grep -n sed -i a.py",
    "echo 'sed -i s/a/b/ a.py'",
    "git commit -m 'sed -i; apply_patch <<X; git apply'",
    "cat <<'EOF'\nsed -i 's/a/b/' a.py\nEOF",
    "go test ./... | tee /tmp/out.txt",
    "pytest 2>&1 | tee run.log | tail -5",
    "ls | tee /dev/stderr",
    "tee",
    "git apply --check fix.patch",
    "git apply --stat fix.patch",
    "git diff > fix.patch",
    "patch --dry-run -p1 < fix.patch",
    "kubectl apply -f app.yml",
    "npm version patch",
    "which apply_patch",
]


@pytest.mark.parametrize(("command", "path"), EDITS)
def test_an_edit_through_the_shell_gives_its_path(command: str, path: str) -> None:
    assert shell_edit(command) == path


@pytest.mark.parametrize("command", EDITS_NOTHING)
def test_a_command_that_edits_nothing_gives_no_path(command: str) -> None:
    assert shell_edit(command) is None


def test_what_follows_the_examined_part_is_not_seen() -> None:
    padding = "x" * (EXAMINED - len(": ; pytest"))
    assert is_test_run(f": {padding}; pytest")
    assert not is_test_run(f": {padding}x; pytest")
    assert shell_edit(f": {'x' * EXAMINED}; sed -i s/a/b/ f") is None


def test_an_edit_at_the_start_of_a_long_command_is_seen() -> None:
    assert shell_edit("cat > big.json <<'EOF'\n" + "x" * 1_000_000 + "\nEOF") == "big.json"


def test_a_text_splits_into_words_files_and_heredocs() -> None:
    text = "A=1 cmd 'a b'\"c\"\\ d 2>err <in >>out <<E | next # no\nbody\nE\nlast"
    first, second, third = simple_commands(text)
    assert first.words == ["A=1", "cmd", "a bc d"]
    assert (first.reads, first.writes, first.heredoc) == (["in"], ["err", "out"], "body\n")
    assert (second.words, third.words) == (["next"], ["last"])


def test_two_heredocs_on_a_line_are_told_apart() -> None:
    first, second = simple_commands("a <<X; b <<Y\none\nX\ntwo\nY\n")
    assert (first.heredoc, second.heredoc) == ("one\n", "two\n")


# What a shell gives meaning to, and what the detectors look for.
PIECES = st.sampled_from(
    [*"'\"`$(){}<>|&;\\\n #=-", "$(", "<<", "<<'E'", "pytest", "sed -i", "bash -c", "sudo", "-m"]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
@example("\ud800 pytest")
@example("cat <<''\npytest")
@example("$((((pytest")
def test_no_text_is_too_strange(text: str) -> None:
    assert is_test_run(text) in (True, False)
    path = shell_edit(text)
    assert path is None or "\n" not in path


@given(TEXTS)
def test_a_text_in_single_quotes_is_never_a_command(text: str) -> None:
    quoted = "'" + text.replace("'", "") + "'"
    assert not is_test_run(f"echo {quoted}")
    assert shell_edit(f"git commit -m {quoted}") is None


@given(st.lists(PIECES, min_size=1, max_size=6).map("".join))
@settings(max_examples=times(15), deadline=None)
def test_a_megabyte_of_anything_is_quick(piece: str) -> None:
    hostile = "est sed " + piece * (1_000_000 // len(piece))
    with within_cpu_seconds(1):
        assert is_test_run(hostile) in (True, False)
        path = shell_edit(hostile)
    assert path is None or len(path) <= EXAMINED
