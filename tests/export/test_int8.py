from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from calib.errors import RankotomError
from calib.limits import Limits
from calib.temperature import softmax
from export.artifact_writer import get_temperature, set_temperature
from export.fp16 import convert_to_fp16
from export.int8 import (
    S8S8,
    U8S8,
    Scheme,
    activation_ranges,
    find_layers,
    prepare,
    quantize,
    sample_evenly,
    scheme_for,
)
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.onnx_runtime import open_session

HEAD = ("/fc/Gemm", "/MatMul_2", "/Div_1", "/Softmax")


@pytest.fixture(scope="module")
def made(prepared: onnx.ModelProto, portraits: NDArray[np.uint8]) -> dict[str, onnx.ModelProto]:
    return {
        scheme.name: quantize(
            prepared,
            activation_ranges(prepared, portraits[:64], "minmax", scheme),
            scheme,
            frozenset(),
        )
        for scheme in (U8S8, S8S8)
    }


def logits(model: onnx.ModelProto, faces: NDArray[np.uint8], **options: bool) -> NDArray:
    session = open_session(model.SerializeToString(), **options)
    return session.run(["logits"], {"faces": np.ascontiguousarray(faces)})[0]


def optimised_operators(model: Path | bytes, folder: Path) -> Counter[str]:
    """The operators of the graph after this machine's ONNX Runtime has optimised it."""
    # Here, after rankotom_edge.model.onnx_runtime has switched off its telemetry.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    source = model if isinstance(model, bytes) else str(model)
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(folder / "optimised.onnx").graph.node)


def initializers(model: onnx.ModelProto) -> dict[str, NDArray]:
    return {held.name: numpy_helper.to_array(held) for held in model.graph.initializer}


@pytest.mark.parametrize(("target", "scheme"), [("x86", U8S8), ("arm", U8S8), ("tensorrt", S8S8)])
def test_each_target_has_its_scheme(target: str, scheme: Scheme) -> None:
    assert scheme_for(target) is scheme


def test_a_layer_is_a_convolution_and_what_its_result_runs_through(
    prepared: onnx.ModelProto,
) -> None:
    found = find_layers(prepared)
    assert len(found) == 26
    assert found["conv1"] == ("conv1", "/Relu", "/pool/MaxPool")
    assert [name.rpartition("/")[2] for name in found["blocks.3.conv2"]] == [
        "blocks.3.conv2", "Add", "Relu_1",
    ]  # fmt: skip
    assert found["blocks.3.shortcut"] == ("blocks.3.shortcut",)
    everything = [name for names in found.values() for name in names]
    assert len(everything) == len(set(everything))
    assert not set(everything) & set(HEAD)


def test_preparing_leaves_the_temperature_and_the_model_alone(
    fp32: Artifact, prepared: onnx.ModelProto
) -> None:
    model = onnx.load(fp32.path)
    before = model.SerializeToString(deterministic=True)
    assert get_temperature(prepare(model)) == np.float32(fp32.card.temperature)
    assert model.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("small", ["int8", "fp16"])
def test_a_parent_at_a_temperature_of_one_can_be_made_small(
    fp32: Artifact, portraits: NDArray[np.uint8], small: str
) -> None:
    """ONNX Runtime folds a division by 1 away."""
    parent = onnx.load(fp32.path)
    set_temperature(parent, 1.0)
    prepared = prepare(parent)
    assert get_temperature(prepared) == 1
    faces = portraits[:16]
    if small == "int8":
        ranges = activation_ranges(prepared, faces, "minmax", U8S8)
        model = quantize(prepared, ranges, U8S8, frozenset())
    else:
        model = convert_to_fp16(prepared)
    for temperature in (1.0, 0.6):
        set_temperature(model, temperature)
        session = open_session(model.SerializeToString())
        said, probabilities = session.run(["logits", "probabilities"], {"faces": faces})
        np.testing.assert_allclose(probabilities, softmax(said, temperature), atol=1e-6)


def test_the_max_pool_stays_in_floats_where_it_is_faster(
    made: dict[str, onnx.ModelProto],
) -> None:
    for model in made.values():
        source = {name: node.op_type for node in model.graph.node for name in node.output}
        quantized = {
            source.get(node.input[0])
            for node in model.graph.node
            if node.op_type == "QuantizeLinear"
        }
        assert "MaxPool" in source.values()
        assert "MaxPool" not in quantized


def test_a_graph_without_a_convolution_is_refused() -> None:
    graph = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[n] x) => (float[n] y) { y = Relu(x) }'
    )
    with pytest.raises(RankotomError, match="no convolution"):
        find_layers(graph)


def test_all_convolutions_but_the_first_of_the_x86_graph_become_integer_kernels(
    made: dict[str, onnx.ModelProto], tmp_path: Path
) -> None:
    counts = optimised_operators(made["u8s8"].SerializeToString(), tmp_path)
    assert counts["QLinearConv"] == 25
    assert counts["QLinearAdd"] == 11
    assert counts["Conv"] + counts["FusedConv"] == 1  # the first, on purpose


def test_the_head_stays_in_floats(made: dict[str, onnx.ModelProto]) -> None:
    for model in made.values():
        makers = {name: node for node in model.graph.node for name in node.output}
        heads = [node for node in model.graph.node if node.name in HEAD]
        assert len(heads) == len(HEAD)
        for node in heads:
            for name in node.input:
                assert name not in makers or makers[name].op_type != "DequantizeLinear"


def test_weights_for_x86_have_seven_bits_and_for_tensorrt_eight(
    made: dict[str, onnx.ModelProto],
) -> None:
    largest = {
        name: max(
            int(np.abs(values.astype(np.int32)).max())
            for held, values in initializers(model).items()
            if held.endswith("weight_quantized")
        )
        for name, model in made.items()
    }
    assert largest["u8s8"] <= 64
    assert largest["s8s8"] in (127, 128)


def test_this_cpus_integer_kernels_answer_as_exact_arithmetic_does(
    made: dict[str, onnx.ModelProto], portraits: NDArray[np.uint8]
) -> None:
    """With 8-bit weights a CPU without VNNI overflows here by whole logits."""
    fast, exact = (logits(made["u8s8"], portraits[:32], optimise=each) for each in (True, False))
    assert np.sqrt(np.mean((fast - exact) ** 2)) < 0.1


def test_both_graphs_predict_nearly_as_their_parent_does(
    prepared: onnx.ModelProto, made: dict[str, onnx.ModelProto], portraits: NDArray[np.uint8]
) -> None:
    parent = logits(prepared, portraits[:64])
    for model in made.values():
        answer = logits(model, portraits[:64], optimise=False)
        assert np.sqrt(np.mean((answer - parent) ** 2)) < 0.25
        assert not np.array_equal(answer, parent)


def test_the_symmetric_graph_keeps_tensorrts_rules_and_the_other_does_not(
    made: dict[str, onnx.ModelProto],
) -> None:
    assert tensorrt_problems(made["s8s8"]) == ()
    assert tensorrt_problems(made["u8s8"])


def test_a_relu_stands_right_behind_its_convolution_in_the_symmetric_graph(
    made: dict[str, onnx.ModelProto],
) -> None:
    makers = {name: node.op_type for node in made["s8s8"].graph.node for name in node.output}
    relus = [node for node in made["s8s8"].graph.node if node.op_type == "Relu"]
    assert relus
    assert {makers[node.input[0]] for node in relus} == {"Conv", "Add"}


def test_a_restored_layer_has_its_float_weights_again(
    prepared: onnx.ModelProto, portraits: NDArray[np.uint8], tmp_path: Path
) -> None:
    ranges = activation_ranges(prepared, portraits[:32], "minmax", U8S8)
    model = quantize(prepared, ranges, U8S8, frozenset({"blocks.7.conv1"}))
    held = initializers(model)
    assert held["blocks.7.conv1.weight"].dtype == np.float32
    assert "blocks.7.conv2.weight" not in held
    # ONNX Runtime would quantize it itself, if it could.
    assert optimised_operators(model.SerializeToString(), tmp_path)["QLinearConv"] == 24


def test_a_restored_layer_leaves_the_answers_and_tensorrts_rules_alone(
    prepared: onnx.ModelProto, portraits: NDArray[np.uint8]
) -> None:
    ranges = activation_ranges(prepared, portraits[:32], "minmax", S8S8)
    everything = frozenset(find_layers(prepared))
    floats = quantize(prepared, ranges, S8S8, everything)
    np.testing.assert_allclose(
        logits(floats, portraits[:8]), logits(prepared, portraits[:8]), atol=1e-4
    )
    some = quantize(prepared, ranges, S8S8, frozenset({"blocks.0.conv1", "blocks.10.shortcut"}))
    assert tensorrt_problems(some) == ()


@pytest.mark.parametrize("calibration", ["entropy", "percentile 99.99", "percentile 99.999"])
def test_other_calibrations_span_less_than_the_extremes(
    prepared: onnx.ModelProto, portraits: NDArray[np.uint8], calibration: str
) -> None:
    """In several batches, so that histograms are merged."""
    widest = activation_ranges(prepared, portraits[:96], "minmax", U8S8)
    found = activation_ranges(prepared, portraits[:96], calibration, U8S8)
    tensor = "/blocks/blocks.7/Relu_output_0"
    assert 0 < found[tensor].range_value[1] <= widest[tensor].range_value[1] * 1.01


def test_quantizing_prints_nothing(
    prepared: onnx.ModelProto, portraits: NDArray[np.uint8], capfd: pytest.CaptureFixture[str]
) -> None:
    ranges = activation_ranges(prepared, portraits[:32], "entropy", S8S8)
    quantize(prepared, ranges, S8S8, frozenset())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["ferplus-int8", "ferplus-int8-s8s8"])
def test_the_embedded_models_are_what_their_cards_say(name: str, tmp_path: Path) -> None:
    artifact = load_artifact(name)
    card = artifact.card
    model = onnx.load(artifact.path)
    assert card.precision == "int8"
    assert card.parent == load_artifact("ferplus-fp32").sha256
    assert card.quantization["ece_checked"] is True
    # On the reporting half of FERPlus valid.
    change = card.quantization["change"]
    assert artifact.bytes <= 0.3 * load_artifact("ferplus-fp32").bytes
    limits = Limits()
    assert change["ece"] <= limits.ece
    assert change["accuracy"] >= -limits.accuracy
    assert change["flips"] <= limits.flips
    if "tensorrt" in card.targets:
        assert tensorrt_problems(model) == ()
    else:
        integers = optimised_operators(artifact.path, tmp_path)["QLinearConv"]
        assert integers == 26 - len(card.layers_in_fp32)


def test_calibration_faces_come_from_the_whole_data_set() -> None:
    faces = np.arange(1000, dtype=np.int64).astype(np.uint8)[:, None]
    chosen: NDArray[np.uint8] = sample_evenly(faces, 10)
    assert len(chosen) == 10
    assert (chosen[0], chosen[-1]) == (faces[0], faces[-1])
    assert len(sample_evenly(faces, 5000)) == 1000
