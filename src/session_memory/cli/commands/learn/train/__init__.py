"""Training data from verified attempts and successful sessions.

In the columns that Hugging Face datasets and TRL expect; masked, without what names a project,
without near-duplicates, and split by repository.
"""
