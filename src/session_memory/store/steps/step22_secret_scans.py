"""Step 22: which parts of the stored logs were searched for secrets.

Only places are kept, and whether a part has a secret: never a secret, and no text around it.
``packs`` identifies the packs that were searched. If they differ later, the bytes are searched
again.
"""

SQL = """
create table secret_scans (
    source_id {int} not null unique,
    rules {int} not null,
    size {int} not null,
    packs {blob} not null,
    stretches {blob} not null
){strict};
"""
