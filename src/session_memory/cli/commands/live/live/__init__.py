"""Show and change the live sessions of agent runtimes.

An agent runtime keeps a live session in the store while it runs; there is no log file. Name a
session by its id or the beginning of it. These commands delete nothing: messages that were rewound,
or folded (replaced by a summary for the model), stay in the store, and live undo brings them back.
"""
