"""Columns of a session ``s`` that come from other tables, as SQL."""

# Several machines can hold the same log, as in a synchronized home. The session then gets the host
# of the log that comes first in this order.
HOST = """
    (select nullif(o.host, '') from session_sources x join sources o on o.id = x.source_id
     where x.session_id = s.id
     order by o.role not in ('log', 'rewritten'), o.starts_at is null, o.starts_at, o.path,
        o.generation, o.host limit 1)
"""
SOURCE_BYTES = """
    (select coalesce(sum(o.kept), 0) from session_sources x join sources o on o.id = x.source_id
     where x.session_id = s.id and o.role in ('log', 'rewritten'))
"""
# What a person said wins over what the logs say.
TASK = """
    nullif(coalesce((select t.task_ref from tasks t where t.session_uid = s.uid), s.task_ref), '')
"""
TITLE = """
    coalesce((select g.name from given_names g where g.session_uid = s.uid), s.title)
"""
