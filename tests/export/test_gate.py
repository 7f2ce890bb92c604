import itertools

import pytest

from calib.drift import Verdict
from export.gate import Kept, blame, restorations, with_worth
from export.judges import Harm
from export.latency import Latencies

YES = Verdict(True, (), ("Flips 1.9 %: too few to be sure.",))
FASTER, SLOWER = Latencies(5.0, 2.0), Latencies(5.0, 6.0)


def test_a_smaller_and_faster_model_is_worth_it() -> None:
    assert with_worth(YES, 0.26, FASTER, judge_latency=True) == YES


def test_a_slower_one_is_not_and_the_reason_names_both_times_and_the_way_out() -> None:
    verdict = with_worth(YES, 0.26, SLOWER, judge_latency=True)
    assert not verdict.passed
    (reason,) = verdict.reasons
    for words in ("6.00 ms against 5.00 ms", "--allow-slower"):
        assert words in reason
    assert verdict.unsure == YES.unsure


def test_speed_does_not_count_where_it_says_nothing() -> None:
    assert with_worth(YES, 0.26, SLOWER, judge_latency=False).passed


@pytest.mark.parametrize("ratio", [1.0, 1.2])
def test_one_that_is_not_smaller_is_not_worth_it(ratio: float) -> None:
    verdict = with_worth(YES, ratio, FASTER, judge_latency=True)
    assert not verdict.passed
    assert "not smaller" in verdict.reasons[0]


def test_what_the_judge_held_against_it_stays() -> None:
    no = Verdict(False, ("ECE rose.",), ())
    verdict = with_worth(no, 0.26, SLOWER, judge_latency=True)
    assert verdict.reasons[0] == "ECE rose."
    assert len(verdict.reasons) == 2


def test_layers_are_blamed_in_the_order_of_the_harm_that_each_does_alone() -> None:
    harms = {"a": 0.01, "b": 0.5, "c": -0.001}
    asked: list[Kept] = []

    def harm_of(kept: Kept) -> Harm:
        asked.append(kept)
        (alone,) = harms.keys() - kept
        return Harm(harms[alone], None)

    assert [each.layer for each in blame(list(harms), harm_of)] == ["b", "a", "c"]
    assert all(len(kept) == 2 for kept in asked)


def test_ece_decides_between_layers_of_the_same_nll() -> None:
    def harm_of(kept: Kept) -> Harm:
        return Harm(0.1, 0.02 if "a" in kept else 0.01)

    assert [each.layer for each in blame(["a", "b"], harm_of)] == ["b", "a"]


LAYERS = [f"layer{number}" for number in range(12)]  # a third of them is four


def test_the_fewest_guilty_layers_are_restored() -> None:
    guilty = {"layer0", "layer2"}
    first = next(restorations(LAYERS, lambda kept: guilty <= kept))
    assert first == guilty  # layer1 is between them in the order, and not needed


def test_whoever_refuses_a_set_is_offered_that_set_and_more() -> None:
    choices = list(restorations(LAYERS, lambda kept: "layer1" in kept))
    assert choices[0] == {"layer1"}
    assert [len(kept) for kept in choices] == [1, 2, 3]
    assert all(smaller < larger for smaller, larger in itertools.pairwise(choices))


def test_where_anything_is_allowed_the_guiltiest_come_first() -> None:
    assert list(restorations(LAYERS, lambda kept: True)) == [
        frozenset(LAYERS[:count]) for count in (1, 2, 3, 4)
    ]


def test_no_more_than_a_third_of_the_layers_is_restored() -> None:
    tried: list[Kept] = []

    def never(kept: Kept) -> bool:
        tried.append(kept)
        return False

    assert list(restorations(LAYERS, never)) == []
    assert max(map(len, tried)) == 4
