"""The terms of sessions in the store: replaced, counted, deleted, on both databases."""

from session_memory.store.recall import Recall, session_terms
from session_memory.testing.stores import Stores

ONE, TWO = "claude:one", "claude:two"


def test_terms_are_found_and_replaced(stores: Stores) -> None:
    with stores.new() as store, store.transaction():
        recall = Recall(store.db)
        with recall.saving(store.transaction()):
            recall.save(ONE, None, session_terms({"webhook": 4, "other": 7}))
            recall.save(ONE, None, session_terms({"webhook": 5, "stripe": 7}))
            recall.save(TWO, ONE, session_terms({"webhook": 9}))
        assert recall.count_of("other") == 0
        numbers = recall.numbers([ONE, TWO])
        assert dict(recall.of_term("webhook")) == {numbers[ONE]: 5, numbers[TWO]: 9}
        assert recall.weights("webhook", [numbers[TWO]]) == [(numbers[TWO], 9)]
        assert recall.subagents() == {numbers[TWO]: numbers[ONE]}
        with recall.saving(store.transaction()):
            recall.save(ONE, None, session_terms({"stripe": 3}))
        assert (recall.count(), recall.count_of("webhook"), recall.count_of("stripe")) == (2, 1, 1)
        assert recall.terms_of(ONE) == {"stripe": 3}
        assert recall.is_whole(ONE, {"stripe": 3})
        assert not recall.is_whole(ONE, {"stripe": 4})


def test_a_forgotten_session_leaves_no_terms(stores: Stores) -> None:
    with stores.new() as store, store.transaction():
        recall = Recall(store.db)
        with recall.saving(store.transaction()):
            recall.save(ONE, None, session_terms({"webhook": 5}))
            recall.save(TWO, None, session_terms({"webhook": 6, "stripe": 7}))
        recall.forget(TWO)
        recall.forget("claude:never-there")
        assert store.db.all("select weight from recall_terms") == [(5,)]
        assert recall.terms_of(TWO) is None


def test_terms_are_deleted_even_if_their_list_is_damaged(stores: Stores) -> None:
    with stores.new() as store, store.transaction():
        recall = Recall(store.db)
        with recall.saving(store.transaction()):
            recall.save(ONE, None, session_terms({"webhook": 5}))
            recall.save(TWO, None, session_terms({"webhook": 6, "stripe": 7}))
        update = "update recall_sessions set terms = :terms where session_uid = :uid"
        store.db.execute(update, {"terms": b"rubbish", "uid": TWO})
        recall.forget(TWO)
        assert store.db.all("select weight from recall_terms") == [(5,)]
