"""What the agent's last words say about the outcome: invented answers in several languages."""

import pytest

from session_memory.learn.digest.closing import (
    announces_work,
    asks_to_choose,
    gave_up,
    is_question,
    waits_for_person,
)

pytestmark = pytest.mark.only("sqlite")

RESULTS = "It works like this. " * 60


@pytest.mark.parametrize(
    "answer",
    [
        "Which of the two ports do you mean?",
        "Two files match. Which one should be sent?\nOther paths are fine, too.",
        "What do you want to do?\n1. Start\n2. Look\n3. Stop",
        "What do you want to do? 1. Start 2. Look 3. Stop",
        "Où faut-il l'écrire ?\n- dans le README\n- dans la doc",
        "I need two things.\nAlso tell me the name of the branch.",
        "There is no story yet.\n2) Let me know the file to begin with.",
        "The page is open. Enter the code, then let me know.",
        "Il y a deux parties.\nDis-moi laquelle tu veux reprendre.",
        "Es gibt zwei Wege. Sag mir, welchen du willst.",
        "Hay dos ramas. Dime cuál quieres.",
        "有两个文件。\n请告诉我要修改哪一个。",
        "二つあります。どちらか教えてください。",
        "Please provide the exact names of the five branches.",
    ],
)
def test_a_question_or_a_request_at_the_end_waits_for_the_person(answer: str) -> None:
    assert waits_for_person(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "It is done.",
        "Two bugs. Want me to fix them?",
        "Both packages are new. Is there anything else I can help you with?",
        "The button is blue now. Let me know if it should be darker.",
        "Let me know when you want to go on with part two.",
        "If the list is empty, tell me which page you see.",
        "Si no aparece, dime qué ves.",
        "Was it slow? Yes, so I changed the query.\nIt takes 2 ms now.",
        RESULTS + "Which part do you want next?",
    ],
)
def test_an_offer_and_a_result_do_not_wait_for_the_person(answer: str) -> None:
    assert not waits_for_person(answer)


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        ("Step 2 is written.\n\nReply with **a / c / y**.", True),
        ("Step 2 is written. Reply with a or b.", True),
        (RESULTS + "\n1. next\n2. stop\nYour choice:", True),
        ("The context is read.\nHow should we proceed?", True),
        ("Le menu :\n1. un\n2. deux\nRéponds par `1` ou `2`.", True),
        ("好的。\n请选择 1 或 2。", True),
        ("Choose a colour in the settings, then it is saved.", False),
        ("Next steps (pick one):\n1) Restart the shell.", False),
    ],
)
def test_a_choice_that_ends_a_step_of_a_workflow(answer: str, asks: bool) -> None:
    assert asks_to_choose(answer) is asks


@pytest.mark.parametrize(
    ("answer", "announces"),
    [
        ("The first is there. Waiting for the other two agents to finish.", True),
        ("Still waiting on the build before I write the report.", True),
        ("I'll let you know as soon as the run is over.", True),
        ('It shows "waiting" for a second. That is normal.', False),
        ("All is done, and I wait for the lead.", False),
        ("I'll remember that when you ask again: tabs.\nIt is written down.", False),
    ],
)
def test_an_answer_that_waits_for_others_is_no_result(answer: str, announces: bool) -> None:
    assert announces_work(answer) is announces


def test_a_technical_problem_at_the_beginning_is_giving_up() -> None:
    assert gave_up("I'm sorry, but I'm having technical problems with the search.")
    assert not gave_up("The server is having technical problems. I moved it.")


def test_a_question_mark_somewhere_in_a_long_prompt_is_no_question() -> None:
    rules = "Go through the list. Is the box empty? Then skip it. " * 40
    assert not is_question(rules)
    assert is_question(rules + "\nWhich boxes are empty?")
    assert is_question("Is it empty? Then skip it.")
