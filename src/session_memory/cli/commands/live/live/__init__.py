"""Show and change the live sessions of agent runtimes.

Name a session by its id or the beginning of it. Nothing is ever deleted: messages that were rewound
or folded stay in the store, and undo brings them back.
"""
