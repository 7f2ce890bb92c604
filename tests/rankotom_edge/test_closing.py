import pytest

from rankotom_edge.closing import Closing


class Door(Closing):
    open = True

    def close(self) -> None:
        self.open = False


def test_it_is_closed_at_the_end_of_the_block() -> None:
    with Door() as door:
        assert door.open
    assert not door.open


def test_it_is_closed_after_an_error_which_passes_through() -> None:
    door = Door()
    with pytest.raises(ZeroDivisionError), door:
        1 / 0  # noqa: B018
    assert not door.open
