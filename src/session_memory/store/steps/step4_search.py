"""Step 4: the state of the word index.

The index can be rebuilt at any time. ``search_state`` says whether it is complete. The tables of
the index differ between the databases, so they are created in `sqlite` and `postgres`.
"""

SQL = """
create table search_state (name {text} not null unique, value {text} not null){strict};
insert into search_state (name, value)
    select 'complete', case when exists (select 1 from events) then 'no' else 'yes' end;
insert into search_state (name, value) values ('version', '1');
"""
