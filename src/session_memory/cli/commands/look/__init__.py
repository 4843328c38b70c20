"""Look at sessions and at what was done in them."""
