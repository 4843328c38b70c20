"""Files whose content stands in a shell command."""

import pytest

from session_memory.views.why.shell_writes import shell_writes


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("cat > src/a.py <<'EOF'\nx = 1\ny = 2\nEOF\n", [("src/a.py", "x = 1\ny = 2\n")]),
        ("cat <<'EOF' > /abs/b.txt\nhi\nEOF", [("/abs/b.txt", "hi\n")]),
        ('tee d.py > /dev/null <<"END"\nEOF\nEND', [("d.py", "EOF\n")]),
        ("cd /r && cat > 'a b' << EOF\nplain\nEOF", [("/r/a b", "plain\n")]),
        ("cat > f <<'A'\n1\nA\ncat > g <<'A'\n2\nA", [("f", "1\n"), ("g", "2\n")]),
        # Only after "<<-" may the end be indented.
        ("cat > f <<'EOF'\n\tEOF\nEOF", [("f", "\tEOF\n")]),
        # What the shell puts in is not known.
        ("cat > f <<EOF\n$HOME\nEOF", []),
        ("cat > $HOME/f <<'EOF'\nx\nEOF", []),
        ("cd elsewhere && cat > f <<'EOF'\nx\nEOF", []),
        # These write no such file, or more than this.
        ("python - <<'EOF'\nprint(1)\nEOF", []),
        ("cat before.txt > f <<'EOF'\nx\nEOF", []),
        ("ssh host 'cat > f' <<'EOF'\nx\nEOF", []),
        ("cat > f <<'EOF'\nno end", []),
    ],
)
def test_what_a_command_writes(command: str, written: list[tuple[str, str]]) -> None:
    assert [(one.path, one.content) for one in shell_writes(command)] == written


def test_appended_lines_are_an_edit() -> None:
    (found,) = shell_writes("cat >> notes.txt <<'EOF'\none\ntwo\nEOF")
    assert (found.action, found.content, found.lines) == ("edit", None, ("+one", "+two"))
