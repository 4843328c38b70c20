BEGIN TRANSACTION;
CREATE TABLE pl_background_tasks (
                session_id TEXT NOT NULL, task_id TEXT NOT NULL, command TEXT NOT NULL,
                status TEXT NOT NULL, return_code INTEGER, output_tail TEXT, output_path TEXT,
                last_seen_at INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL, PRIMARY KEY (session_id, task_id));
CREATE TABLE pl_compactions (
                session_id TEXT NOT NULL, compact_seq INTEGER NOT NULL, note_seq INTEGER NOT NULL,
                from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, before_tokens INTEGER,
                after_tokens INTEGER, round_index INTEGER, created_at INTEGER NOT NULL,
                PRIMARY KEY (session_id, compact_seq));
INSERT INTO "pl_compactions" VALUES('sess_000000000000000000abc000',1,7,1,5,400,20,2,1763200014000);
CREATE TABLE pl_context_attempts (
            attempt_id VARCHAR(64) PRIMARY KEY, cache_key VARCHAR(64) NOT NULL,
            owner_session_id VARCHAR(200) NOT NULL, outcome VARCHAR(20) NOT NULL,
            record_json TEXT NOT NULL, delivered INTEGER NOT NULL DEFAULT 0,
            accounted INTEGER NOT NULL DEFAULT 0, created_at BIGINT NOT NULL);
CREATE TABLE pl_context_cache (
            cache_key VARCHAR(64) PRIMARY KEY, executor_key VARCHAR(64) NOT NULL,
            owner_session_id VARCHAR(200) NOT NULL, status VARCHAR(20) NOT NULL,
            payload_json TEXT NOT NULL, summary TEXT, result_hash VARCHAR(64),
            lease_token VARCHAR(64), lease_until BIGINT NOT NULL DEFAULT 0,
            created_at BIGINT NOT NULL, accessed_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
            size_bytes BIGINT NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
            retry_at BIGINT NOT NULL DEFAULT 0);
CREATE TABLE pl_follow_up_queue (
                id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
                item_id TEXT NOT NULL, kind TEXT NOT NULL DEFAULT 'user',
                mode TEXT NOT NULL DEFAULT 'queue', status TEXT NOT NULL DEFAULT 'pending',
                content TEXT NOT NULL, meta_json TEXT, claim_token TEXT, claimed_at INTEGER,
                created_at INTEGER NOT NULL, delivered_at INTEGER, delivered_seq INTEGER,
                delivered_send_index INTEGER);
CREATE TABLE pl_hook_events (
                session_id TEXT NOT NULL, event_id INTEGER NOT NULL, message_seq INTEGER,
                round_index INTEGER, send_index INTEGER, hook_point TEXT NOT NULL, hook TEXT,
                position TEXT, kind TEXT NOT NULL, payload_json TEXT, created_at INTEGER NOT NULL,
                PRIMARY KEY (session_id, event_id));
CREATE TABLE pl_messages (
                session_id TEXT NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL,
                name TEXT, content TEXT, tool_calls_json TEXT, tool_call_id TEXT,
                round_index INTEGER, state TEXT NOT NULL DEFAULT 'active', meta_json TEXT,
                send_index INTEGER, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq));
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',1,'user',NULL,'make the kiln report its temperature',NULL,NULL,0,'compacted_out','{}',NULL,1763200001000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',2,'assistant',NULL,'I look first.','[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"pytest -q\"}"}}]',NULL,0,'compacted_out','{}',NULL,1763200002000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',3,'tool','bash','1 failed in 0.1s',NULL,'call_1',0,'compacted_out','{}',NULL,1763200004000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',4,'assistant',NULL,NULL,'[{"id":"call_2","type":"function","function":{"name":"spawn_agent","arguments":"{\"task\": \"find the sensor\"}"}}]',NULL,1,'compacted_out','{}',NULL,1763200005000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc001',1,'user',NULL,'find the sensor',NULL,NULL,0,'active','{}',NULL,1763200008000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc001',2,'assistant',NULL,'It is in the lid.',NULL,NULL,0,'active','{}',NULL,1763200009000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',5,'tool','spawn_agent','It is in the lid.',NULL,'call_2',1,'compacted_out','{}',NULL,1763200011000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',6,'assistant',NULL,'It reports now.',NULL,NULL,2,'active','{}',NULL,1763200012000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',7,'system','compact_note','The sensor is in the lid.',NULL,NULL,2,'active','{"compacted_at_round":2,"from_seq":1,"to_seq":5,"ord":1,"original_tokens":400,"summary_tokens":20}',NULL,1763200014000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',8,'user',NULL,'and in Kelvin',NULL,NULL,0,'active','{}',NULL,1763200015000);
INSERT INTO "pl_messages" VALUES('sess_000000000000000000abc000',9,'assistant',NULL,'Yes.','[{"id":"call_3","type":"function","function":{"name":"bash","arguments":"{\"command\": \"python kiln.py\"}"}}]',NULL,0,'active','{}',NULL,1763200016000);
CREATE TABLE pl_notes (
                session_id TEXT NOT NULL, note_id INTEGER NOT NULL, content TEXT NOT NULL,
                pinned INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL, PRIMARY KEY (session_id, note_id));
CREATE TABLE pl_project_messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL, send_index INTEGER NOT NULL, kind TEXT NOT NULL,
                content_json TEXT NOT NULL, rendered_text TEXT,
                source_seq_lo INTEGER, source_seq_hi INTEGER,
                compact_from_send INTEGER, compact_to_send INTEGER,
                projector_version INTEGER NOT NULL DEFAULT 0, token_estimate INTEGER,
                created_at INTEGER NOT NULL, UNIQUE (session_id, send_index, kind));
CREATE TABLE pl_schema_migrations (id INTEGER PRIMARY KEY CHECK (id=1), version INTEGER NOT NULL);
INSERT INTO "pl_schema_migrations" VALUES(1,9);
CREATE TABLE pl_session_leases (
                session_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL,
                acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
                fence INTEGER NOT NULL DEFAULT 1);
CREATE TABLE pl_session_runtime_state (
                session_id TEXT NOT NULL, state_key TEXT NOT NULL, value_json TEXT,
                updated_at INTEGER NOT NULL, PRIMARY KEY (session_id, state_key));
CREATE TABLE pl_session_state (
                session_id TEXT PRIMARY KEY, next_seq INTEGER NOT NULL DEFAULT 1,
                round_index INTEGER NOT NULL DEFAULT 0, last_compact_seq INTEGER NOT NULL DEFAULT 0,
                pending_json TEXT);
INSERT INTO "pl_session_state" VALUES('sess_000000000000000000abc000',10,0,1,NULL);
INSERT INTO "pl_session_state" VALUES('sess_000000000000000000abc001',3,0,0,NULL);
CREATE TABLE pl_session_stats (
                session_id TEXT PRIMARY KEY, sends INTEGER NOT NULL DEFAULT 0,
                rounds INTEGER NOT NULL DEFAULT 0, llm_calls INTEGER NOT NULL DEFAULT 0,
                tool_calls INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
                completion_tokens INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT NULL DEFAULT 0,
                cached_tokens INTEGER NOT NULL DEFAULT 0,
                first_send_at INTEGER, last_send_at INTEGER, updated_at INTEGER NOT NULL);
CREATE TABLE pl_sessions (
                session_id TEXT PRIMARY KEY, created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL, system_prompt TEXT, model TEXT,
                config_json TEXT, status TEXT NOT NULL DEFAULT 'active',
                kind TEXT NOT NULL DEFAULT 'root', parent_session_id TEXT,
                spawn_tool_call_id TEXT, spawn_depth INTEGER NOT NULL DEFAULT 0,
                lifecycle TEXT NOT NULL DEFAULT 'ephemeral', metadata_json TEXT);
INSERT INTO "pl_sessions" VALUES('sess_000000000000000000abc000',1763200000000,1763200016000,'You tend a kiln.','mock-model','{}','active','root',NULL,NULL,0,'ephemeral','{"cwd":"/home/mira/code/kiln"}');
INSERT INTO "pl_sessions" VALUES('sess_000000000000000000abc001',1763200007000,1763200009000,NULL,'mock-model','{}','active','subagent','sess_000000000000000000abc000','call_2',1,'linked','{}');
CREATE TABLE pl_shared_state (
                owner TEXT NOT NULL, state_key TEXT NOT NULL, value_json TEXT,
                updated_at INTEGER NOT NULL, PRIMARY KEY (owner, state_key));
CREATE TABLE pl_timers (
                session_id TEXT NOT NULL, timer_id INTEGER NOT NULL, due_at INTEGER NOT NULL,
                note TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'armed', interval_s INTEGER,
                fire_count INTEGER NOT NULL DEFAULT 0, last_fired_at INTEGER,
                created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
                PRIMARY KEY (session_id, timer_id));
CREATE TABLE pl_usage_rounds (
                session_id TEXT NOT NULL, send_index INTEGER NOT NULL DEFAULT 0,
                round_index INTEGER NOT NULL, prompt_tokens INTEGER,
                completion_tokens INTEGER, total_tokens INTEGER, cached_tokens INTEGER, model TEXT,
                created_at INTEGER NOT NULL,
                PRIMARY KEY (session_id, send_index, round_index));
INSERT INTO "pl_usage_rounds" VALUES('sess_000000000000000000abc000',0,0,100,10,110,40,'mock-model',1763200003000);
INSERT INTO "pl_usage_rounds" VALUES('sess_000000000000000000abc000',0,1,120,20,140,60,'mock-model',1763200006000);
INSERT INTO "pl_usage_rounds" VALUES('sess_000000000000000000abc001',0,0,30,5,35,0,'mock-model',1763200010000);
INSERT INTO "pl_usage_rounds" VALUES('sess_000000000000000000abc000',0,2,150,7,157,100,'mock-model',1763200013000);
INSERT INTO "pl_usage_rounds" VALUES('sess_000000000000000000abc000',1,0,90,3,93,50,'mock-model',1763200017000);
CREATE INDEX pl_idx_sessions_parent ON pl_sessions(parent_session_id);
CREATE INDEX pl_idx_messages_session_state ON pl_messages(session_id, state, seq);
CREATE INDEX pl_idx_background_tasks_session_status ON pl_background_tasks(session_id, status, updated_at);
CREATE INDEX pl_idx_timers_due ON pl_timers(status, due_at);
CREATE INDEX pl_idx_project_messages_session_kind ON pl_project_messages(session_id, kind, send_index);
CREATE INDEX pl_idx_hook_events_session_msg ON pl_hook_events(session_id, message_seq);
CREATE UNIQUE INDEX pl_uq_inbox_item ON pl_follow_up_queue(session_id, item_id);
CREATE INDEX pl_idx_inbox_session_status ON pl_follow_up_queue(session_id, status, id);
CREATE INDEX pl_context_due ON pl_context_cache (executor_key,status,retry_at,created_at);
CREATE INDEX pl_context_running ON pl_context_cache (status,lease_until);
CREATE INDEX pl_context_lru ON pl_context_cache (status,accessed_at);
CREATE INDEX pl_context_outbox ON pl_context_attempts (accounted,delivered,created_at);
CREATE INDEX pl_context_attempt_key ON pl_context_attempts (cache_key,outcome);
CREATE INDEX pl_context_attempt_owner ON pl_context_attempts (owner_session_id,created_at);
DELETE FROM "sqlite_sequence";
COMMIT;
