"""Find sessions, errors and how they were solved."""
