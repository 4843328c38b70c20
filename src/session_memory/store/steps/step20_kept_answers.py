"""Step 20: answers that compare all analyzed sessions are kept until a digest changes.

``digest_writes`` has at most one row: how often digests were written. An answer in
``kept_answers`` is valid as long as its ``digest_writes`` is that number.
"""

SQL = """
create table digest_writes (number {int} not null){strict};

create table kept_answers (
    name {text} not null unique,
    digest_writes {int} not null,
    made_at {int} not null,
    body {blob} not null
){strict};
"""
