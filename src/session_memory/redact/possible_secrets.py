"""Find out which of many short texts may have a secret, with one search over all of them.

Most texts have no word of any rule, and beginning a search takes longer than searching a short
text.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from session_memory.redact.detection import TOKEN_WORDS, marks, word_places
from session_memory.redact.wrapping import breaks_inside_words


def possible_secrets(texts: Sequence[str]) -> set[int]:
    """Return the indexes of the texts that may have a secret. In all others `mask` finds none.

    A secret has a word of a rule, is near an escape, a colour or an invisible character, or begins
    with a word that a line break splits. All of these are found in the joined texts too.
    """
    together = "\n".join(texts)
    data = together.encode("utf-8", "surrogatepass")
    if together.isascii():
        sizes = [len(text) for text in texts]
    else:
        sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    plain = data.decode("latin-1")
    starts = list(accumulate((size + 1 for size in sizes), initial=0))
    places = [
        *word_places(plain, data),
        # A mark ends in the text that it begins in.
        *(end - 1 for end in marks(plain, data)),
        *(end for _, end in breaks_inside_words(plain, TOKEN_WORDS, data)),
    ]
    return {bisect_right(starts, place) - 1 for place in places}
