BEGIN TRANSACTION;
CREATE TABLE compactions (
    session_id      TEXT NOT NULL,
    compact_seq     INTEGER NOT NULL,
    note_seq        INTEGER NOT NULL,
    from_seq        INTEGER NOT NULL,
    to_seq          INTEGER NOT NULL,
    before_tokens   INTEGER,
    after_tokens    INTEGER,
    round_index     INTEGER,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (session_id, compact_seq)
);
INSERT INTO "compactions" VALUES('sess_000000000000000000abc000',1,7,1,5,400,20,2,1763200014000);
CREATE TABLE messages (
    session_id      TEXT NOT NULL,
    seq             INTEGER NOT NULL,
    role            TEXT NOT NULL,
    name            TEXT,
    content         TEXT,
    tool_calls_json TEXT,
    tool_call_id    TEXT,
    round_index     INTEGER,
    state           TEXT NOT NULL DEFAULT 'active',
    meta_json       TEXT,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',1,'user',NULL,'make the kiln report its temperature',NULL,NULL,0,'compacted_out','{}',1763200001000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',2,'assistant',NULL,'I look first.','[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"pytest -q\"}"}}]',NULL,0,'compacted_out','{}',1763200002000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',3,'tool','bash','1 failed in 0.1s',NULL,'call_1',0,'compacted_out','{}',1763200004000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',4,'assistant',NULL,NULL,'[{"id":"call_2","type":"function","function":{"name":"spawn_agent","arguments":"{\"task\": \"find the sensor\"}"}}]',NULL,1,'compacted_out','{}',1763200005000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc001',1,'user',NULL,'find the sensor',NULL,NULL,0,'active','{}',1763200008000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc001',2,'assistant',NULL,'It is in the lid.',NULL,NULL,0,'active','{}',1763200009000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',5,'tool','spawn_agent','It is in the lid.',NULL,'call_2',1,'compacted_out','{}',1763200011000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',6,'assistant',NULL,'It reports now.',NULL,NULL,2,'active','{}',1763200012000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',7,'system','compact_note','The sensor is in the lid.',NULL,NULL,2,'active','{"compacted_at_round":2,"from_seq":1,"to_seq":5,"original_tokens":400,"summary_tokens":20}',1763200014000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',8,'user',NULL,'and in Kelvin',NULL,NULL,0,'active','{}',1763200015000);
INSERT INTO "messages" VALUES('sess_000000000000000000abc000',9,'assistant',NULL,'Yes.','[{"id":"call_3","type":"function","function":{"name":"bash","arguments":"{\"command\": \"python kiln.py\"}"}}]',NULL,0,'active','{}',1763200016000);
CREATE TABLE session_state (
    session_id        TEXT PRIMARY KEY,
    next_seq          INTEGER NOT NULL DEFAULT 1,
    round_index       INTEGER NOT NULL DEFAULT 0,
    last_compact_seq  INTEGER NOT NULL DEFAULT 0,
    pending_json      TEXT
);
INSERT INTO "session_state" VALUES('sess_000000000000000000abc000',10,0,1,NULL);
INSERT INTO "session_state" VALUES('sess_000000000000000000abc001',3,0,0,NULL);
CREATE TABLE sessions (
    session_id          TEXT PRIMARY KEY,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    system_prompt       TEXT,
    model               TEXT,
    config_json         TEXT,
    status              TEXT NOT NULL DEFAULT 'active',
    kind                TEXT NOT NULL DEFAULT 'root',
    parent_session_id   TEXT,
    spawn_tool_call_id  TEXT,
    spawn_depth         INTEGER NOT NULL DEFAULT 0,
    lifecycle           TEXT NOT NULL DEFAULT 'ephemeral',
    metadata_json       TEXT
);
INSERT INTO "sessions" VALUES('sess_000000000000000000abc000',1763200000000,1763200016000,'You tend a kiln.','mock-model','{}','active','root',NULL,NULL,0,'ephemeral','{"cwd":"/home/mira/code/kiln"}');
INSERT INTO "sessions" VALUES('sess_000000000000000000abc001',1763200007000,1763200009000,NULL,'mock-model','{}','active','subagent','sess_000000000000000000abc000','call_2',1,'linked','{}');
CREATE TABLE usage_rounds (
    session_id        TEXT NOT NULL,
    round_index       INTEGER NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    total_tokens      INTEGER,
    model             TEXT,
    created_at        INTEGER NOT NULL,
    PRIMARY KEY (session_id, round_index)
);
INSERT INTO "usage_rounds" VALUES('sess_000000000000000000abc000',1,120,20,140,'mock-model',1763200006000);
INSERT INTO "usage_rounds" VALUES('sess_000000000000000000abc001',0,30,5,35,'mock-model',1763200010000);
INSERT INTO "usage_rounds" VALUES('sess_000000000000000000abc000',2,150,7,157,'mock-model',1763200013000);
INSERT INTO "usage_rounds" VALUES('sess_000000000000000000abc000',0,90,3,93,'mock-model',1763200017000);
CREATE INDEX idx_sessions_parent
    ON sessions(parent_session_id);
CREATE INDEX idx_messages_session_state
    ON messages(session_id, state, seq);
COMMIT;
