"""Look after the store and the program."""
