"""What ranking costs is measured against the same run without it."""

from collections.abc import Sequence

from rich.console import Console

from train.experiments.ranking import BASE, NO_RANKING, VARIANTS, RankingResult, results_table


def row(results: Sequence[RankingResult], variant: str) -> list[str]:
    console = Console(width=160)
    with console.capture() as capture:
        console.print(results_table(results))
    line = next(line for line in capture.get().splitlines() if line.startswith(variant))
    return line.removeprefix(variant).split()


def test_a_variant_is_compared_with_the_run_of_its_own_seed() -> None:
    results = [
        RankingResult(NO_RANKING, 0, 0.80, 0.5, 0.7, 0.6),
        RankingResult("RankMixup", 0, 0.81, 0.5, 0.9, 0.8),
        RankingResult(NO_RANKING, 1, 0.84, 0.5, 0.7, 0.6),
        RankingResult("RankMixup", 1, 0.82, 0.4, 0.95, 0.8),
    ]
    shown = [cell for cell in row(results, "RankMixup") if cell != "%"]
    assert shown == ["81.5", "−0.5", "+1.0", "−2.0", "0.450", "92.5", "80.0"]


def test_only_the_first_variant_has_no_ranking_and_all_have_blends() -> None:
    weights = {
        name: parts.get("ranking_weight", BASE.ranking_weight) for name, parts in VARIANTS.items()
    }
    assert [name for name, weight in weights.items() if weight == 0] == [NO_RANKING]
    assert BASE.blends
    assert not BASE.damaged
