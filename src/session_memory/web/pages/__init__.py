"""The pages: each asks views for values, and gives them to its template."""
