"""The contract of an adapter as a pytest suite. A package with an adapter runs it over its samples:

    class TestParley(AdapterContract):
        adapter = parley_adapter.AGENT
        samples = Path(__file__).parent / "samples"
        unknown = b'{"what":"something new","at":"2026-07-01T10:00:00Z"}\\n'

pytest finds the tests in the base class. ``samples`` is a directory of logs, with the same
directories as the agent makes. ``unknown`` is a line of a kind that the adapter does not know, in
the agent's format.

The suite cannot tell whether the events are right. To test that, run the real program with a script
and compare the events with what the script did.
"""

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, ClassVar

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import Cursor, NativeEvent, Record, SourceRef, Unlisted
from session_memory.adapters.event_text import event_text
from session_memory.collect.database_copies import dump_of, dumped
from session_memory.collect.native import opened, unpacked
from session_memory.collect.row_sources import rows_of
from session_memory.core.document_lines import DocumentLines
from session_memory.core.ids import FLAVOR, NATIVE_ID
from session_memory.core.roles import DOCUMENT, FIRST_LOGS, LOG, LOGS, REWRITTEN, SPILL
from session_memory.core.schema import ROLES
from session_memory.testing.collecting import check_restores, check_sound, collected, rebuilt

SNIFFED = 65536
LONGEST_SUMMARY = 200
HOSTILE = (
    b"{}\n",
    b"[]\n",
    b"null\n",
    b'"text"\n',
    b"NaN\n",
    b"\xff\xfe\xfd\n",
    b'{"id":"\xc3\x28"}\n',
    b"\x00\x00\x00\n",
    b'{"text":"\\ud800"}\n',
    b'{"type":"user","what":"user","role":"user","id":"\\u0000"}\n',
    b'{"n":' + b"9" * 5000 + b"}\n",
    b'{"n":NaN,"m":Infinity,"type":7,"what":[],"id":{},"message":[[]]}\n',
    b"[" * 100_000 + b"\n",
    b'{"a":' * 600 + b"1" + b"}" * 600 + b"\n",
    b'{"type":' + b'{"a":' * 600 + b"NaN" + b"}" * 601 + b"\n",
)


def lines_of(document: bytes) -> bytes:
    """Return the lines that the store keeps for a rewritten document when it is first read."""
    return DocumentLines().add(document)


class BytesSource:
    """A source whose contents are in memory."""

    def __init__(self, ref: SourceRef, data: bytes) -> None:
        self.ref = ref
        self.data = data

    def open(self, offset: int) -> BinaryIO:
        return io.BytesIO(self.data[offset:])


class AdapterContract:
    """Tests that every adapter must pass. Subclass it in a test module and set ``adapter`` and
    ``samples``."""

    adapter: ClassVar[Agent]
    samples: ClassVar[Path]
    unknown: ClassVar[bytes] = b""
    malformed: ClassVar[bytes] = b"{neither a record nor the beginning of one\n"
    # False for logs that are no JSON lines, such as plain text, where no line is malformed.
    is_line_based: ClassVar[bool] = True
    has_usage: ClassVar[bool] = True

    # ------------------------------------------------------------ the adapter itself

    def test_the_adapter_says_what_it_is(self) -> None:
        assert FLAVOR.fullmatch(self.adapter.flavor)
        assert isinstance(self.adapter.version, int) and self.adapter.version > 0
        assert isinstance(self.adapter.bookkeeping, frozenset)
        assert all(isinstance(kind, str) and kind for kind in self.adapter.bookkeeping)

    def test_roots_follow_from_what_they_are_given(self, tmp_path: Path) -> None:
        found = self.adapter.roots({}, tmp_path)
        assert found and found == self.adapter.roots({}, tmp_path)
        assert all(tmp_path in root.parents for root in found), "use the given home, not HOME"

    # ------------------------------------------------------------ discovery

    def test_discovery_finds_the_samples_and_always_the_same(self) -> None:
        refs = self._refs()
        assert refs == self._refs()
        assert any(ref.role in FIRST_LOGS for ref in refs), f"no log below {self.samples}"
        assert len({ref.path for ref in refs}) == len(refs), "a file was listed twice"
        for ref in refs:
            assert ref.role in (*LOGS, DOCUMENT, SPILL), ref
            assert ref.place.is_file(), ref
            place = Path(ref.home_path)
            assert place.parts and not place.is_absolute() and ".." not in place.parts, ref

    def test_the_head_of_a_log_tells_whose_it_is(self) -> None:
        for source in self._logs():
            # Other roles are found beside a log, not by their first bytes.
            if source.ref.role == LOG:
                head = source.data[:SNIFFED]
                if source.ref.stamp is not None:
                    head = source.ref.place.read_bytes()[:SNIFFED]
                assert self.adapter.recognizes(head), source.ref.path
        for head in (b"", b"hello", b"{}\n", b"\xff" * 100, b'{"name":"package"}\n'):
            assert not self.adapter.recognizes(head), head

    def test_logs_gathered_in_a_directory_are_found_as_well(self, tmp_path: Path) -> None:
        logs = [source.ref for source in self._logs() if source.ref.role in FIRST_LOGS]
        files = {ref.place if ref.stamp is not None else ref.path for ref in logs}
        for number, path in enumerate(sorted(files)):
            (tmp_path / str(number)).mkdir()
            shutil.copyfile(path, tmp_path / str(number) / path.name)
        (tmp_path / "notes.txt").write_text("nothing of ours")
        found = [ref for ref in self.adapter.discover(tmp_path) if isinstance(ref, SourceRef)]
        assert sorted(ref.path.name for ref in found) == sorted(ref.path.name for ref in logs)

    # ------------------------------------------------------------ reading

    def test_reading_stops_and_resumes_anywhere(self) -> None:
        for source in self._sources():
            whole = list(self.adapter.read(source, Cursor()))
            assert whole == list(self.adapter.read(source, Cursor())), "reading twice differs"
            for seen, (cursor, _) in enumerate(whole, start=1):
                rest = list(self.adapter.read(source, cursor))
                assert rest == whole[seen:], f"{source.ref.path} differs after item {seen}"

    def test_the_texts_of_a_line_are_those_that_read_gives(self) -> None:
        if self.adapter.texts is None:
            return
        for source in self._logs():
            # A line alone does not name the session, so a subagent's log gets some session.
            ref = msgspec.structs.replace(source.ref, session=source.ref.session or " ")
            for line in (*source.data.split(b"\n"), self.unknown[:-1], *HOSTILE):
                texts = self.adapter.texts(line.rstrip(b"\n"))
                if texts is not None:
                    alone = BytesSource(ref, line.rstrip(b"\n") + b"\n")
                    records = [record for _, record in self.adapter.read(alone, Cursor())]
                    events = next((record.events for record in records if record.events), [])
                    assert texts == [(event_text(one), one.arguments) for one in events], line

    def test_the_beginning_of_a_log_gives_the_beginning_of_its_items(self) -> None:
        for source in self._logs():
            whole = list(self.adapter.read(source, Cursor()))
            # A line that is no record counts only with its newline. Before, it may be incomplete.
            ends = [cursor.offset + bool(record.problem) for cursor, record in whole]
            cuts = {end + step for end in ends for step in (-1, 0, 1)}
            for size in sorted(cut for cut in cuts if cut <= len(source.data)):
                some = list(
                    self.adapter.read(BytesSource(source.ref, source.data[:size]), Cursor())
                )
                assert some == whole[: len(some)], f"{source.ref.path} cut at {size}"
                if self.is_line_based:
                    assert len(some) == sum(end <= size for end in ends)

    def test_spilled_bodies_give_no_records(self) -> None:
        for source in self._sources():
            if source.ref.role == SPILL:
                assert list(self.adapter.read(source, Cursor())) == []

    def test_every_line_is_events_or_bookkeeping_or_a_problem(self) -> None:
        for source in self._logs():
            records = self._read(source)
            for record in records:
                self._check_one_of(record)
            if self.is_line_based:
                assert [(r.offset, r.length) for r in records] == list(_lines(source.data))

    # ------------------------------------------------------------ bad and new lines

    def test_a_torn_last_line_waits_for_its_end(self) -> None:
        if not self.is_line_based:
            return
        for source in self._logs():
            data = _ended(source.data)
            whole = self._read(BytesSource(source.ref, data))
            first = data.partition(b"\n")[0]
            for torn in (self.malformed[:-1], first[:-1], first[: len(first) // 2]):
                assert self._read(BytesSource(source.ref, data + torn)) == whole

    def test_a_whole_last_line_is_a_record_before_its_newline_comes(self) -> None:
        if not self.is_line_based:
            return
        for source in self._logs():
            data = _ended(source.data)
            whole = list(self.adapter.read(BytesSource(source.ref, data), Cursor()))
            found = list(self.adapter.read(BytesSource(source.ref, data.rstrip()), Cursor()))
            assert found == whole, source.ref.path
            cursor = found[-1][0] if found else Cursor()
            for rest in (b"", b"\n", b" \r\n", b"\n\n"):
                grown = BytesSource(source.ref, data.rstrip() + rest)
                assert self._read(grown) == [record for _, record in whole], rest
                assert list(self.adapter.read(grown, cursor)) == [], rest

    def test_a_malformed_line_is_a_problem_with_its_place_and_costs_itself_alone(self) -> None:
        if not self.is_line_based:
            return
        for source in self._logs():
            native = _ended(source.data)
            whole = self._read(BytesSource(source.ref, native))
            for place in (0, *(r.offset + r.length + 1 for r in (*whole[:2], *whole[-1:]))):
                data = native[:place] + self.malformed + native[place:]
                records = self._read(BytesSource(source.ref, data))
                bad = [record for record in records if record.offset == place]
                assert [bool(record.problem) for record in bad] == [True], (
                    f"{source.ref.path}@{place}"
                )
                assert bad[0].length == len(self.malformed.rstrip())
                others = [record.events for record in records if record.offset != place]
                assert others == [record.events for record in whole]

    def test_unknown_kinds_are_kept_as_events(self) -> None:
        if not (self.is_line_based and self.unknown):
            return
        for source in self._logs():
            last = self._read(BytesSource(source.ref, _ended(source.data) + self.unknown))[-1]
            assert last.length == len(self.unknown.rstrip())
            assert last.events and not last.problem and not last.bookkeeping
            for event in last.events:
                _check_event(event)

    def test_hostile_lines_are_records_like_all_others(self) -> None:
        if not self.is_line_based:
            return
        source = next(self._logs())
        first = source.data.partition(b"\n")[0] + b"\n"
        for line in HOSTILE:
            records = self._read(BytesSource(source.ref, first + line))
            assert [(r.offset, r.length) for r in records] == list(_lines(first + line)), line[:60]
            for record in records:
                self._check_one_of(record)

    # ------------------------------------------------------------ records and events

    def test_records_say_which_session_they_belong_to(self) -> None:
        for source in self._logs():
            for record in self._read(source):
                assert NATIVE_ID.fullmatch(record.session), record
                assert record.native_id != "", record
                assert record.parent_id is None or record.parent_id != record.native_id, record

    def test_events_are_well_formed(self) -> None:
        for event in self._events():
            _check_event(event)

    def test_calls_and_results_pair_by_their_id(self) -> None:
        calls: set[tuple[str, str | None]] = set()
        results: list[tuple[str, str | None]] = []
        for source in self._logs():
            for record in self._read(source):
                for event in record.events:
                    kinds = (event.kind, *event.marks)
                    if "tool_call" in kinds:
                        calls.add((record.session, event.call_id))
                    if "tool_result" in kinds:
                        results.append((record.session, event.call_id))
        assert calls, "the samples hold no tool call"
        assert [result for result in results if result not in calls] == []

    def test_usage_is_never_negative_and_names_its_response(self) -> None:
        used = [r.usage for s in self._logs() for r in self._read(s) if r.usage is not None]
        assert bool(used) is self.has_usage, "the samples hold no usage"
        for usage in used:
            assert usage.usage_id and usage.model, usage
            buckets = [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
                usage.cache_write_1h_tokens,
                usage.reasoning_tokens,
                usage.web_searches,
            ]
            assert all(isinstance(tokens, int) and tokens >= 0 for tokens in buckets), usage
            assert usage.cache_write_1h_tokens <= usage.cache_write_tokens, usage
            assert usage.reasoning_tokens <= usage.output_tokens, usage

    def test_a_store_of_the_samples_is_sound_and_gives_them_back(self, tmp_path: Path) -> None:
        """Collect the samples into a store and restore them. The adapter must be installed: built
        in, or announced by an entry point of its package."""
        with collected(self.samples, flavor=self.adapter.flavor) as store:
            check_sound(store)
            before = store.fingerprint()
            assert rebuilt(store).fingerprint() == before
            check_restores(store, None, tmp_path / "again")

    # ------------------------------------------------------------ the samples

    def _refs(self) -> list[SourceRef]:
        refs = []
        for ref in self.adapter.discover(self.samples):
            assert not isinstance(ref, Unlisted), f"{ref.path}: {ref.reason}"
            refs += [ref, *ref.companions]
        return refs

    def _sources(self) -> Iterator[BytesSource]:
        for ref in self._refs():
            dump, rows = dump_of(self.adapter.flavor), rows_of(self.adapter.flavor, ref)
            if rows is not None:
                yield BytesSource(ref, b"".join(rows(ref, Cursor())))
                continue
            with (
                opened(ref.place) as native,
                unpacked(native, ref.place) if dump is None else dumped(ref, dump) as file,
            ):
                data = file.read()
                yield BytesSource(ref, lines_of(data) if ref.role == REWRITTEN else data)

    def _logs(self) -> Iterator[BytesSource]:
        return (source for source in self._sources() if source.ref.role in LOGS)

    def _read(self, source: BytesSource) -> list[Record]:
        return [record for _, record in self.adapter.read(source, Cursor())]

    def _events(self) -> Iterator[NativeEvent]:
        return (e for s in self._logs() for r in self._read(s) for e in r.events)

    def _check_one_of(self, record: Record) -> None:
        held = [bool(record.events), record.bookkeeping is not None, record.problem is not None]
        assert sum(held) == 1, record
        assert record.bookkeeping is None or record.bookkeeping in self.adapter.bookkeeping, record


def _check_event(event: NativeEvent) -> None:
    kinds = (event.kind, *event.marks)
    assert all(isinstance(kind, str) and kind for kind in kinds), event
    assert len(set(kinds)) == len(kinds), event
    assert event.role in ROLES, event
    assert event.native_kind, event
    assert "\n" not in event.summary and len(event.summary) <= LONGEST_SUMMARY, event
    if "tool_call" in kinds:
        assert event.role == "assistant" and event.call_id and event.tool, event
    if "tool_result" in kinds:
        assert event.role == "tool" and event.call_id, event
        assert event.is_error == ("error" in kinds), event
    json.dumps([event.summary, event.tool, event.call_id, event.path]).encode()


def _ended(data: bytes) -> bytes:
    """Return a log without its last line, if that line has no newline."""
    return data[: data.rfind(b"\n") + 1]


def _lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the offset and the length of every line that is not blank, without its line end.

    A last line without a newline is left out if it is no whole object.
    """
    offset = 0
    last = data.rpartition(b"\n")[2]
    is_torn = last and not jsonl.is_object(last)
    for line in (_ended(data) if is_torn else data).split(b"\n"):
        if line.strip():
            yield offset, len(line.rstrip())
        offset += len(line) + 1
