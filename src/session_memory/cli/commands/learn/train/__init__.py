"""Export training data from successful sessions.

Examples come from verified attempts of skills and from successful sessions. The data has the
columns of Hugging Face datasets and TRL. Secrets are masked, names of projects and near-duplicates
are left out, and each repository is in one split only.
"""
