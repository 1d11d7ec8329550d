"""Writes the weights of Silero VAD for 16 kHz as apps/avatar-worker reads them: convert.py [OUTPUT]"""

import hashlib
import sys
from importlib import metadata
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper

SOURCE = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
HEARING = Path(__file__).parents[2] / "apps/avatar-worker/src/conversation/hearing"
FORMAT = b"VAD1"
ROWS = 8


def source():
    """The path of the network in the package of PyPI. Ends the program when it is another one."""
    path = Path(metadata.distribution("silero-vad").locate_file("silero_vad/data/silero_vad.onnx"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SOURCE:
        sys.exit(f"{path} is not the network of version 6.2.3: {digest}")
    return path


def constants(graph, found):
    """All constants of a graph and of the graphs in it, by name."""
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.type == onnx.AttributeProto.TENSOR:
                found[node.output[0]] = numpy_helper.to_array(attribute.t)
            if attribute.type == onnx.AttributeProto.GRAPH:
                constants(attribute.g, found)
    return found


def weights_of_16_khz(path):
    """The network has a branch for 16 kHz, taken when the rate is 16000, and one for 8 kHz."""
    graph = onnx.load(path).graph
    (branch,) = [node for node in graph.node if node.op_type == "If"]
    (then,) = [attribute.g for attribute in branch.attribute if attribute.name == "then_branch"]
    found = constants(then, {})

    def get(suffix):
        (value,) = [value for name, value in found.items() if name.endswith(suffix)]
        return value.astype("<f4")

    return get


def pairs(weights):
    """(output, input, tap): two outputs together, by input."""
    outputs, inputs, taps = weights.shape
    return weights.reshape(outputs // 2, 2, inputs, taps).transpose(0, 2, 1, 3)


def rows(weights):
    """(row, column): eight rows together, by column."""
    count, columns = weights.shape
    return weights.reshape(count // ROWS, ROWS, columns).transpose(0, 2, 1)


def layers(get):
    """Weights and bias of each layer, in the order of the file."""
    encoders = [(get(f"encoder.{n}.reparam_conv.weight"), get(f"encoder.{n}.reparam_conv.bias")) for n in range(4)]
    (first, first_bias), (second, second_bias), (third, third_bias), (fourth, fourth_bias) = encoders
    yield pairs(first), first_bias
    yield pairs(second), second_bias
    # The third convolution sees two pieces and a zero before them, the fourth one piece between zeros.
    yield rows(third[:, :, 1:].reshape(64, 128)), third_bias
    yield rows(fourth[:, :, 1]), fourth_bias
    cell = numpy.concatenate([get("rnn.weight_ih"), get("rnn.weight_hh")], axis=1)
    yield rows(cell), get("rnn.bias_ih") + get("rnn.bias_hh")
    yield get("decoder.2.weight"), get("decoder.2.bias")


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else HEARING / "silero-vad.bin"
    with output.open("wb") as file:
        file.write(FORMAT)
        for weights, bias in layers(weights_of_16_khz(source())):
            file.write(numpy.ascontiguousarray(weights).tobytes())
            file.write(bias.tobytes())
    print(output.stat().st_size, hashlib.sha256(output.read_bytes()).hexdigest())
