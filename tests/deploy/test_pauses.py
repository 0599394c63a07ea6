"""Pauses before a process is started again: longer with each end, short after a steady run."""

from deploy.local.pauses import PAUSES, STEADY, Pauses


def test_pauses_grow_with_each_end_up_to_the_longest():
    pauses = Pauses()
    assert [pauses.after(3) for _ in range(7)] == [*PAUSES, PAUSES[-1], PAUSES[-1]]


def test_pauses_begin_anew_after_a_steady_run():
    pauses = Pauses()
    assert [pauses.after(3) for _ in range(6)][-1] == PAUSES[-1]
    assert [pauses.after(up) for up in (STEADY - 1, STEADY, 3)] == [PAUSES[-1], *PAUSES[:2]]
