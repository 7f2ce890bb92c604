"""Whether two histograms come from the same population: how much they differ, and if by chance.

The population stability index says how much. The bound of Dvoretzky, Kiefer and Wolfowitz on the
Kolmogorov-Smirnov distance says how likely chance alone is; it also holds for small samples.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Counts: TypeAlias = NDArray[np.int64]

# Of one test. The drift monitor tests once in 5 readings: one false alarm in 100,000 readings.
SIGNIFICANCE = 5e-5
# The usual reading of the index: below 0.1 nothing of note, above 0.25 another population.
SMALL_SHIFT, LARGE_SHIFT = 0.10, 0.25
# The share of the reference that each bin must hold. Of a model's 15 bins of confidence the lowest
# hold a handful of faces each, whose chance would dominate the index. Chosen by eye.
MIN_BIN_SHARE = 0.05


def stability_index(counts: Counts, reference: Counts) -> float:
    """sum (p - q) log (p / q), over bins that each hold ``MIN_BIN_SHARE`` of the reference. Half a
    face is added to each bin, so that none is empty."""
    merged = merge_bins(reference)
    seen, usual = (np.bincount(merged, weights=table) + 0.5 for table in (counts, reference))
    seen, usual = seen / seen.sum(), usual / usual.sum()
    return float(((seen - usual) * np.log(seen / usual)).sum())


def merge_bins(reference: Counts) -> Counts:
    """For each bin the number of its merged bin: neighbours are merged until they hold enough."""
    numbers, number, held = [], 0, 0
    left, enough = int(reference.sum()), MIN_BIN_SHARE * int(reference.sum())
    for count in reference.tolist():
        numbers.append(number)
        held, left = held + count, left - count
        if held >= enough and left >= enough:
            number, held = number + 1, 0
    return np.array(numbers, np.int64)


def p_value(counts: Counts, reference: Counts) -> float:
    """An upper bound on the probability that two samples of one population differ this much:

        p = 2 exp(-2 D^2 n m / (n + m)),  D = max |F_n - F_m|

    Massart's constant 2 is proven for one sample; for two, a test simulates it. Binned
    confidence differs by no more than confidence itself, so the bound holds for bins too.
    """
    faces, measured = int(counts.sum()), int(reference.sum())
    apart = np.abs(np.cumsum(counts / faces - reference / measured)).max()
    exponent = -2 * float(apart) ** 2 * faces * measured / (faces + measured)
    return min(1.0, 2 * math.exp(exponent))


def has_shifted(counts: Counts, reference: Counts) -> bool:
    """By more than chance, and by enough to matter."""
    return (
        p_value(counts, reference) <= SIGNIFICANCE
        and stability_index(counts, reference) >= SMALL_SHIFT
    )
