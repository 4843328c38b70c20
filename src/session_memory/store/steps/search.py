"""Step 4: the index of words.

It is derived and can be built anew at any time; ``search_state`` says whether it holds everything.
The index itself differs between the databases and stands in their modules.
"""

SQL = """
create table search_state (name {text} not null unique, value {text} not null){strict};
insert into search_state (name, value)
    select 'complete', case when exists (select 1 from events) then 'no' else 'yes' end;
insert into search_state (name, value) values ('version', '1');
"""
