"""Export training data from verified attempts and successful sessions, for Hugging Face and TRL.

Secrets and names are masked, low-quality examples are dropped, and splits go by repository.
"""
