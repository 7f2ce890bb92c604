from rankotom_edge.views.controls import KEYS, Controls, toggle


def test_a_key_switches_and_the_same_key_switches_back() -> None:
    for key in KEYS:
        once = toggle(Controls(), key)
        assert toggle(once, key) == Controls()
        assert (once == Controls()) == (key in ("q", "s", "r"))


def test_a_key_without_a_meaning_changes_nothing() -> None:
    assert toggle(Controls(help=True), "x") == Controls(help=True)


def test_keys_that_can_do_nothing_are_not_listed() -> None:
    assert Controls().keys == KEYS
    assert list(KEYS.keys() - Controls(absent=("v",)).keys.keys()) == ["v"]


def test_bars_are_smoothed_until_b_is_pressed() -> None:
    assert Controls().smoothed
    assert not toggle(Controls(), "b").smoothed
