"""Export training data from successful sessions.

Examples come from verified attempts of skills and from successful sessions. There are three kinds:
sft is a prompt with its answer, chat is a whole session, and dpo is an attempt or call that failed
beside one that succeeded. The data has the columns that Hugging Face datasets and TRL expect.
Secrets are masked, names of projects are replaced, and near-duplicates are left out. No repository
is in two splits, unless it is the only one.
"""
