"""mycode's session store on top of the live store, so that mycode only changes its import.

Sessions are plain dicts (``{"session": meta, "messages": [...]}``), messages are lists of blocks,
and ``compact`` and ``rewind`` are events to append. Loading writes nothing: after an interruption
call `SessionStore.repair_session`.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from session_memory.core.errors import NewerSchema
from session_memory.core.live_errors import NotOnPath, SessionClosed, UnknownLiveSession
from session_memory.live.blocks import text_of
from session_memory.live.compaction import CONTINUATION, THRESHOLD, should_compact
from session_memory.live.connection import check_id
from session_memory.live.mycode_home import (
    FORMAT,
    MycodeHome,
    in_thread,
    resolve_mycode_home,
    resolve_sessions_dir,
)
from session_memory.live.mycode_messages import (
    ContentBlock,
    ConversationMessage,
    Message,
    apply_compact,
    apply_rewind,
    as_mycode,
    assistant_message,
    build_compact_event,
    build_message,
    build_rewind_event,
    document_block,
    fields_of,
    flatten_message_text,
    image_block,
    is_place,
    iso_time,
    text_block,
    thinking_block,
    tool_result_block,
    tool_use_block,
    usage_in,
    user_text_message,
)
from session_memory.live.rows import SessionRow
from session_memory.live.sessions import PAGE, Draft

__all__ = [
    "COMPACT_SUMMARY_PROMPT",
    "DEFAULT_COMPACT_THRESHOLD",
    "DEFAULT_SESSION_PROVIDER",
    "DEFAULT_SESSION_TITLE",
    "MESSAGE_FORMAT_VERSION",
    "ContentBlock",
    "ConversationMessage",
    "SessionData",
    "SessionMeta",
    "SessionMetaDict",
    "SessionStore",
    "apply_compact",
    "apply_rewind",
    "assistant_message",
    "build_compact_event",
    "build_message",
    "build_rewind_event",
    "document_block",
    "flatten_message_text",
    "image_block",
    "resolve_mycode_home",
    "resolve_sessions_dir",
    "should_compact",
    "text_block",
    "thinking_block",
    "tool_result_block",
    "tool_use_block",
    "user_text_message",
]

MESSAGE_FORMAT_VERSION = 5
DEFAULT_SESSION_PROVIDER = "anthropic"
DEFAULT_SESSION_TITLE = "New chat"
DEFAULT_COMPACT_THRESHOLD = THRESHOLD
COMPACT_SUMMARY_PROMPT = CONTINUATION

SessionMetaDict = dict[str, Any]


class SessionData(TypedDict):
    session: SessionMetaDict
    messages: list[ConversationMessage]


@dataclass
class MycodeSessionMeta:
    id: str
    title: str
    provider: str | None
    model: str | None
    cwd: str | None
    api_base: str | None
    message_format_version: int
    created_at: str
    updated_at: str


class MycodeSessionStore(MycodeHome):
    """mycode's sessions in one store.

    Without arguments it uses the store of the command line, and ``data_dir`` is below
    ``$MYCODE_HOME``. Another ``data_dir`` has a database of its own. ``place`` is a database: a
    file or a ``postgresql://`` address. Such a place may also be given as the first argument.
    """

    # ------------------------------------------------------------ sessions

    def draft_session(
        self,
        title: str | None,
        *,
        provider: str = DEFAULT_SESSION_PROVIDER,
        model: str,
        cwd: str,
        api_base: str | None,
    ) -> SessionData:
        """Prepare a session without storing it. `append_message` with its id stores it."""
        draft = self._draft(None, title, provider=provider, model=model, cwd=cwd, api_base=api_base)
        now = iso_time(None)
        session = MycodeSessionMeta(
            id=draft.session_id,
            title=title or DEFAULT_SESSION_TITLE,
            provider=provider,
            model=model,
            cwd=_directory(cwd),
            api_base=api_base,
            message_format_version=MESSAGE_FORMAT_VERSION,
            created_at=now,
            updated_at=now,
        )
        return {"session": asdict(session), "messages": []}

    async def create_session(
        self,
        title: str | None,
        *,
        session_id: str | None = None,
        provider: str = DEFAULT_SESSION_PROVIDER,
        model: str,
        cwd: str,
        api_base: str | None,
    ) -> SessionData:
        """Create a session. Refused if the id is taken."""
        settings = {"provider": provider, "model": model, "cwd": cwd, "api_base": api_base}
        draft = self._draft(session_id, title, **settings)

        def create() -> SessionData:
            self._make_tool_output(draft.session_id)
            self._live.create_session(session_id=draft.session_id, **draft.fields)
            return self._loaded(draft.session_id)

        return await in_thread(create)

    async def list_sessions(self, *, cwd: str | None = None) -> list[SessionMetaDict]:
        """List the sessions, the last changed first.

        Closed sessions, subagents, and sessions of a newer format or of another home are left out.
        """
        return await in_thread(lambda: list(self._metas(cwd)))

    async def latest_session(self, *, cwd: str | None = None) -> SessionMetaDict | None:
        return await in_thread(lambda: next(self._metas(cwd), None))

    def _metas(self, cwd: str | None) -> Iterator[SessionMetaDict]:
        directory = _directory(cwd) if cwd else None
        last: SessionRow | None = None
        while rows := self._live.list_sessions(cwd=directory, after=last, limit=PAGE):
            for row in rows:
                if self._is_here(row) and _is_known(_version(row)):
                    yield _to_meta(row)
            last = rows[-1]

    def load_session_sync(self, session_id: str) -> SessionData | None:
        """Return a session with its context, or None if it does not exist. Nothing is written."""
        try:
            return self._loaded(check_id(session_id))
        except UnknownLiveSession:
            return None

    async def load_session(self, session_id: str) -> SessionData | None:
        return await in_thread(lambda: self.load_session_sync(session_id))

    async def clear_session(self, session_id: str) -> None:
        def clear() -> None:
            if self._live.get_session(session_id) is not None:
                self._live.clear_session(session_id)

        check_id(session_id)
        await in_thread(clear)

    async def delete_session(self, session_id: str) -> None:
        """Close the session and remove its ``tool-output``. Its id can be used again.

        Its messages stay in the store until ``forget``.
        """

        def delete() -> None:
            if self._live.close_session(session_id):
                self._remove_tool_output(session_id)

        check_id(session_id)
        await in_thread(delete)

    async def repair_session(self, session_id: str) -> int:
        """Add an error result for every interrupted call; return their number."""
        return len(await in_thread(lambda: self._live.repair(check_id(session_id))))

    # ------------------------------------------------------------ messages

    async def append_message(
        self,
        session_id: str,
        message: Message,
        *,
        provider: str,
        model: str,
        cwd: str,
        api_base: str | None,
    ) -> None:
        """Append a message, or a ``compact`` or ``rewind`` event. Creates the session if new."""
        settings = {"provider": provider, "model": model, "cwd": cwd, "api_base": api_base}
        draft = self._draft(session_id, None, **settings)
        await in_thread(lambda: self._append(draft, message))

    def _append(self, draft: Draft, message: Message) -> None:
        self._make_tool_output(draft.session_id)
        try:
            self._append_to(draft, message)
        except SessionClosed:
            # If the session was deleted, a new one gets its id. If it is archived, `_set_aside`
            # does nothing, and the second attempt raises the same error.
            with self._live._writing():
                self._live._set_aside(draft.session_id)
                self._append_to(draft, message)

    def _append_to(self, draft: Draft, message: Message) -> None:
        fields, used = fields_of(message), usage_in(message)
        if used is None and fields["role"] not in ("compact", "rewind"):
            self._live.append_message(draft, **fields)
            return
        with self._live._writing():
            match fields["role"]:
                case "rewind":
                    self._live._create_if_new(draft.session_id, draft.fields)
                    self._rewind(draft.session_id, fields["meta"].get("rewind_to"))
                case "compact":
                    self._compact(draft, text_of(fields["content"]), fields["meta"])
                case _:
                    self._live.append_message(draft, **fields)
            if used is not None:
                self._live.record_usage(draft.session_id, **used)

    async def append_rewind(self, session_id: str, rewind_to: int) -> None:
        """Rewind so that the first ``rewind_to`` messages of `load_session` remain."""
        check_id(session_id)

        def rewind() -> None:
            if self._live.get_session(session_id) is not None:
                self._rewind(session_id, rewind_to)

        await in_thread(rewind)

    def _rewind(self, session_id: str, rewind_to: Any) -> None:
        with self._live._writing():
            # The lock comes first, so that nobody appends between counting and moving.
            self._live._hold(session_id)
            ends = [end for _, end in self._visible(session_id)]
            if not is_place(rewind_to, len(ends)):
                raise NotOnPath(session_id, rewind_to)
            self._live.rewind(session_id, ends[rewind_to - 1] if rewind_to else 0)

    def _compact(self, draft: Draft, summary: str, meta: Message) -> None:
        self._live._create_if_new(draft.session_id, draft.fields)
        self._live._hold(draft.session_id)
        if context := self._live.load_active_messages(draft.session_id):
            self._live.record_compaction(
                draft.session_id,
                from_seq=context[0].seq,
                to_seq=context[-1].seq,
                note_content=summary,
                note_meta=meta,
            )
        else:
            # There is nothing to fold, so the summary is the first message.
            self._live.append_message(
                draft, role="system", name="compact_note", content=summary, meta=meta
            )

    # ------------------------------------------------------------ shapes

    def _draft(self, session_id: str | None, title: str | None, **settings: Any) -> Draft:
        metadata = {FORMAT: MESSAGE_FORMAT_VERSION, **self._labelled()}
        settings["cwd"] = _directory(settings["cwd"])
        # The default title is not stored, so that the first prompt becomes the title.
        given = None if title in (None, "", DEFAULT_SESSION_TITLE) else title
        return self._live.draft_session(
            session_id=session_id, title=given, metadata=metadata, **settings
        )

    def _loaded(self, session_id: str) -> SessionData:
        row = self._live.get_session(session_id)
        if row is None:
            raise UnknownLiveSession(session_id)
        return {"session": _to_meta(row), "messages": [m for m, _ in self._visible(session_id)]}

    def _visible(self, session_id: str) -> list[tuple[Message, int]]:
        """Return the messages of the context, each with the seq to which a rewind must go so that
        the message becomes the last one.

        That is its own seq. For a note, it is the seq of the last message that the note replaced.
        """
        context = self._live.load_active_messages(session_id)
        ends = {fold.note_seq: fold.to_seq for fold in self._live.list_compactions(session_id)}

        def end(seq: int) -> int:
            return end(ends[seq]) if seq in ends else seq

        return [(shown, end(row.seq)) for row in context for shown in as_mycode(row)]


def _version(row: SessionRow) -> Any:
    return row.metadata.get(FORMAT, MESSAGE_FORMAT_VERSION)


def _is_known(version: Any) -> bool:
    return isinstance(version, int) and version <= MESSAGE_FORMAT_VERSION


def _to_meta(row: SessionRow) -> SessionMetaDict:
    version = _version(row)
    if not _is_known(version):
        found = version if isinstance(version, int) else 0
        raise NewerSchema(f"session {row.session_id}", found=found, known=MESSAGE_FORMAT_VERSION)
    meta = MycodeSessionMeta(
        id=row.session_id,
        title=row.title or DEFAULT_SESSION_TITLE,
        provider=row.provider,
        model=row.model,
        cwd=row.cwd,
        api_base=row.api_base,
        message_format_version=version,
        created_at=iso_time(row.created_at),
        updated_at=iso_time(row.updated_at),
    )
    return asdict(meta)


def _directory(cwd: str) -> str:
    return os.path.abspath(cwd)  # noqa: PTH100


# mycode's own names for the classes.
SessionMeta = MycodeSessionMeta
SessionStore = MycodeSessionStore
