import pytest

from calib.limits import Verdict
from export.gate import Kept, blame, fewest_restored, with_worth
from export.judges import Harm
from rankotom_edge.model.latency import Latencies

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


def test_ece_counts_beside_nll() -> None:
    harms = {"a": Harm(0.010, -0.001), "b": Harm(0.008, 0.02), "c": Harm(0.05, 0.0)}

    def harm_of(kept: Kept) -> Harm:
        (alone,) = harms.keys() - kept
        return harms[alone]

    assert [each.layer for each in blame(list(harms), harm_of)] == ["c", "b", "a"]


LAYERS = [f"layer{number}" for number in range(12)]  # a third of them is four


@pytest.mark.parametrize("guilty", [{"layer0"}, {"layer2"}, {"layer0", "layer2"}, {"layer3"}])
def test_the_fewest_guilty_layers_are_restored(guilty: Kept) -> None:
    asked: list[Kept] = []

    def passes(kept: Kept) -> bool:
        asked.append(kept)
        return guilty <= kept

    assert fewest_restored(LAYERS, passes) == guilty  # the others before them are not needed
    assert guilty in asked
    assert len(asked) <= 10


def test_one_layer_that_is_enough_alone_is_preferred_to_two_that_are_together() -> None:
    def passes(kept: Kept) -> bool:
        return {"layer0", "layer1"} <= kept or "layer2" in kept

    assert fewest_restored(LAYERS, passes) == {"layer2"}


def test_no_more_than_a_third_of_the_layers_is_restored() -> None:
    asked: list[Kept] = []

    def never(kept: Kept) -> bool:
        asked.append(kept)
        return False

    assert fewest_restored(LAYERS, never) is None
    alone = [frozenset({layer}) for layer in LAYERS[:4]]
    assert asked == alone + [frozenset(LAYERS[:count]) for count in (2, 3, 4)]
