"""Step 7: which analysis code made a digest.

``analysis`` is a hash of the code, ``analysis_release`` the number of its release. Digests from
before this step have an empty hash, so the next analysis makes them again.
"""

SQL = """
alter table digests add column analysis {text} not null default '';
alter table digests add column analysis_release {int} not null default 0;
create index digests_by_analysis on digests (analysis, analysis_release, session_uid);
"""
