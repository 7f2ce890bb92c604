"""Weights are rounded so that a layer's outputs change least, not its weights."""

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from export.int8 import U8S8, activation_ranges, quantizable_layers, quantize
from export.rounding import WeightRounding, filter_inputs, is_plain, round_together
from rankotom_edge.model.onnx_runtime import open_session

WIDE = (-128, 127)


def correlated_inputs(random: np.random.Generator) -> NDArray[np.float32]:
    """Like neighbouring pixels: every input is nearly its neighbour's."""
    steps = random.normal(0, 0.2, (2000, 20))
    return (random.normal(0, 1, (2000, 1)) + steps.cumsum(axis=1)).astype(np.float32)


def test_independent_inputs_leave_each_weight_at_the_nearest_integer() -> None:
    weights = np.random.default_rng(0).normal(0, 20, (4, 9)).astype(np.float32)
    rounded = round_together(weights, np.eye(9), WIDE)
    np.testing.assert_array_equal(rounded, weights.round())


def test_with_correlated_inputs_the_outputs_change_less_than_by_rounding_alone() -> None:
    random = np.random.default_rng(0)
    inputs = correlated_inputs(random)
    weights = random.normal(0, 5, (16, 20)).astype(np.float32)
    rounded = round_together(weights, (inputs.T @ inputs / len(inputs)).astype(np.float64), WIDE)
    outputs, near, alone = (inputs @ each.T for each in (weights, rounded, weights.round()))
    assert np.square(outputs - near).mean() < 0.5 * np.square(outputs - alone).mean()
    assert np.abs(rounded - weights).max() > 0.5  # not the nearest integers
    np.testing.assert_array_equal(rounded, rounded.round())


def test_integers_stay_within_their_limits() -> None:
    random = np.random.default_rng(0)
    inputs = correlated_inputs(random)
    weights = random.normal(0, 60, (16, 20)).astype(np.float32).clip(-64, 63)
    rounded = round_together(weights, (inputs.T @ inputs).astype(np.float64), (-64, 63))
    assert rounded.min() >= -64
    assert rounded.max() <= 63


def test_a_layer_whose_inputs_are_all_zero_is_rounded_too() -> None:
    weights = np.array([[1.4, -2.6]], np.float32)
    assert round_together(weights, np.zeros((2, 2)), WIDE).tolist() == [[1, -3]]


@pytest.mark.parametrize(
    ("kernel", "stride", "pads"), [(3, 1, (1, 1, 1, 1)), (3, 2, (0, 0, 1, 1)), (2, 2, (0,) * 4)]
)
def test_a_filters_inputs_are_those_of_the_convolution(
    kernel: int, stride: int, pads: tuple[int, ...]
) -> None:
    random = np.random.default_rng(0)
    maps = random.normal(0, 1, (2, 3, 6, 6)).astype(np.float32)
    weights = random.normal(0, 1, (4, 3, kernel, kernel)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride] * 2, pads=pads)
    graph = helper.make_graph(
        [node],
        "one convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, maps.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    (expected,) = ReferenceEvaluator(helper.make_model(graph)).run(None, {"x": maps})
    seen = filter_inputs(node, maps, (kernel, kernel))
    outputs = (seen @ weights.reshape(4, -1).T).reshape(2, *expected.shape[2:], 4)
    np.testing.assert_allclose(outputs.transpose(0, 3, 1, 2), expected, atol=1e-4)


def test_filters_that_do_not_see_all_channels_keep_the_nearest_integers() -> None:
    def convolution(**settings: object) -> onnx.NodeProto:
        return helper.make_node("Conv", ["x", "w"], ["y"], **settings)

    assert is_plain(convolution())
    assert is_plain(convolution(group=1, dilations=[1, 1], strides=[2, 2]))
    assert not is_plain(convolution(group=32))
    assert not is_plain(convolution(dilations=[2, 2]))


def test_the_rounded_model_is_nearer_to_fp32_and_layers_in_fp32_stay(
    prepared: onnx.ModelProto, portraits: NDArray[np.uint8]
) -> None:
    kept = "blocks.7.conv1"
    ranges = activation_ranges(prepared, portraits[:64], "minmax", U8S8)
    nearest = quantize(prepared, ranges, U8S8, frozenset({kept}))
    rounded = onnx.ModelProto()
    rounded.CopyFrom(nearest)
    rounding = WeightRounding(prepared, list(quantizable_layers(prepared)), portraits[:64])
    rounding.apply(rounded)
    judged = np.ascontiguousarray(portraits[300:400])

    def probabilities(model: onnx.ModelProto) -> NDArray[np.float32]:
        session = open_session(model.SerializeToString())
        return np.asarray(session.run(["probabilities"], {"faces": judged})[0])

    wanted = probabilities(prepared)
    before, after = (np.abs(probabilities(each) - wanted).mean() for each in (nearest, rounded))
    assert after < 0.8 * before

    def integers(model: onnx.ModelProto) -> dict[str, NDArray[np.int8]]:
        arrays = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        return {name: array for name, array in arrays.items() if name.endswith("_quantized")}

    old, new = integers(nearest), integers(rounded)
    assert len(old) == len(quantizable_layers(prepared)) - 1
    changed = [name for name in old if not np.array_equal(old[name], new[name])]
    assert len(changed) == len(old)
    assert all(new[name].min() >= old[name].min() for name in old)
    assert all(new[name].max() <= old[name].max() for name in old)
