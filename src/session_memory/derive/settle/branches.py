"""Find events on abandoned branches. Pure functions over a session's events, in order."""

Link = tuple[int, int | None, bool, str]


def abandoned_by_head(tree: list[Link], head: int | None) -> dict[int, str]:
    """The seq of each event that does not lead to ``head`` → the event_uid where its branch begins.

    ``tree`` holds ``(seq, parent_seq, is_leaf, event_uid)``. A leaf is a remark that nothing can
    follow: it is abandoned if its parent is.
    """
    parents = {seq: parent for seq, parent, _, _ in tree}
    path: set[int] = set()
    while head is not None and head in parents and head not in path:
        path.add(head)
        head = parents[head]
    abandoned: dict[int, str] = {}
    for seq, parent, is_leaf, uid in tree:
        if parent is not None and parent in abandoned:
            abandoned[seq] = abandoned[parent]
        elif seq not in path and not is_leaf:
            abandoned[seq] = uid
    return abandoned


def abandoned_by_prompts(chain: list[Link]) -> dict[int, str]:
    """The seq of each event on an abandoned branch → the event_uid of the branch's first prompt.

    ``chain`` holds ``(seq, parent_seq, is_prompt, event_uid)``. Where several prompts follow the
    same event, the one with the latest descendant stays. The person abandoned the others.
    """
    latest = _latest_descendants(chain)
    prompts: dict[int, list[int]] = {}
    for seq, parent, is_prompt, _ in chain:
        if is_prompt and parent is not None:
            prompts.setdefault(parent, []).append(seq)
    first: set[int] = set()
    for children in prompts.values():
        if len(children) > 1:
            kept = max(children, key=lambda child: latest[child])
            first.update(child for child in children if child != kept)
    abandoned: dict[int, str] = {}
    for seq, parent, _, uid in chain:
        if seq in first:
            abandoned[seq] = uid
        elif parent is not None and parent in abandoned and parent < seq:
            abandoned[seq] = abandoned[parent]
    return abandoned


def _latest_descendants(chain: list[Link]) -> dict[int, int]:
    latest: dict[int, int] = {}
    for seq, parent, _, _ in reversed(chain):
        latest[seq] = max(latest.get(seq, seq), seq)
        if parent is not None and parent < seq:
            latest[parent] = max(latest.get(parent, parent), latest[seq])
    return latest
