"""Training data: what verified attempts and successful sessions teach, in the columns that
Hugging Face ``datasets`` and TRL expect. Redacted, gated, split by repository."""
