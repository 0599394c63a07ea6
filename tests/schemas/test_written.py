"""What people may write, and how it is kept."""

import pytest

from hallmark.schemas.written import on_one_line, written


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("one\r\ntwo\n\rthree", "one\ntwo\n\nthree"),
        ("a\tb", "a\tb"),
        ("Zoë, \u05d0, 👩\u200d💻, a\u00a0b", "Zoë, \u05d0, 👩\u200d💻, a\u00a0b"),
        ("", ""),
    ],
)
def test_lines_are_kept_as_they_were_written(sent: str, kept: str):
    assert written(sent) == kept


@pytest.mark.parametrize(
    ("sent", "kept"), [(" one\r\n two\t\u00a0three ", "one two three"), ("", ""), ("Zoë", "Zoë")]
)
def test_one_line_has_a_space_between_its_words(sent: str, kept: str):
    assert on_one_line(sent) == kept


@pytest.mark.parametrize("unseen", ["\0", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"])
def test_control_characters_are_refused_with_their_place(unseen: str):
    says = rf"line 2 contains the control character U\+{ord(unseen):04X}; take it out"
    for check in (written, on_one_line):
        with pytest.raises(ValueError, match=says):
            check(f"one\r\ntwo{unseen}")


def test_one_line_has_nothing_invisible():
    for unseen in ("\u202e", "\u200b"):
        with pytest.raises(ValueError, match=rf"invisible character U\+{ord(unseen):04X}"):
            on_one_line(f"Ada{unseen}")
