"""Export training data from successful sessions.

Examples come from verified attempts of skills and from successful sessions. The data has the
columns that Hugging Face datasets and TRL expect. Secrets are masked, names of projects are
replaced, and near-duplicates are left out. No repository is in two splits, unless it is the only
one.
"""
