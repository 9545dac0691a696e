"""A model as ONNX: raw rows in, answers out, in one graph that needs neither minisig nor Python.

    inputs      of a table one for every column, by its name: numbers are double (N, 1), categories string (N, 1);
                of other data `x`, double (N, n), in the units of the training data
    outputs     of classes `label` (N,) and `probabilities` (N, C); of several yes or no `probabilities` (N, C);
                of numbers `prediction`, (N,) or (N, C), in the target's own units

A column that has an output's name keeps it; the output is then called label_, say.

Numbers come in as double, since float32 cannot tell 1e8 from 1e8 + 1. As in `Model.predict` they are filled and
standardised in float64 and rounded to float32, the network has the dtype it was trained in, and answers are float64.
A number that is NaN or infinite is missing.

A word is compared letter by letter with the categories, and with every spelling of those in cells.MISSING, in capitals
or not; any other is one of the others. What `Model.predict` does to a cell before that cannot be said in ONNX and is
left to the caller: no blanks around a word, "3" and not "3.0" in a column of numbers that are names, "" for None.
A graph refuses nothing: where `Model.predict` does, as for pixels that are NaN, its answers mean nothing.

Opset 13, ai.onnx.ml 2 and IR version 7 are of 2020: all but the oldest runtimes know them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

from minisig import __version__
from minisig.activations import Erf, ReLU, ScaledTanh, Sigmoid, Softplus, Tanh
from minisig.activations.scaled_tanh import A, B
from minisig.data.cells import MISSING
from minisig.data.prepared import Categorical, Numeric, TableInputs, VectorInputs, as_word
from minisig.errors import MinisigError, UsageError, one_line, writing
from minisig.layers import Dense, Dropout
from minisig.trained.model import Model
from minisig.training.files import write_file

ML = "ai.onnx.ml"
VERSIONS = {"": 13, ML: 2}
IR_VERSION = 7
MAX_BYTES = 2**31 - 2**26  # of parameters, which leaves room for the rest: protobuf ends at 2**31

OUTPUTS = {"classification": ("label", "probabilities"), "labels": ("probabilities",), "regression": ("prediction",)}
ELEMENTS = {"float32": "FLOAT", "float64": "DOUBLE", "int64": "INT64", "string": "STRING"}


def export(model: Model, path: Path) -> dict[str, Any]:
    """Write the model to `path`, which ends in .onnx; the name, type and shape of every input and output."""
    if path.suffix != ".onnx":
        raise UsageError(f"{path}: expected the name of a file that ends in .onnx")
    graph = graph_of(model)
    about = {"task": model.task, "targets": json.dumps(model.targets)}
    if model.classes:
        about["classes"] = json.dumps(model.classes)
    content = graph.checked(about).SerializeToString()
    with writing(path):
        write_file(path, content)
    return {"inputs": graph.inputs, "outputs": graph.outputs}


class Graph:
    """Nodes and constants as they are added. No two values have one name: the inputs have theirs first."""

    def __init__(self, inputs: Iterable[str], outputs: Iterable[str]) -> None:
        try:
            import onnx
        except ImportError:
            raise MinisigError("an ONNX file needs onnx: pip install 'minisig[onnx]'") from None
        self.onnx: Any = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.names = {""}  # which stands for a value that is left out
        self.input_names = [self.name(name or f"unnamed {i + 1}") for i, name in enumerate(inputs)]
        self.output_names = {name: self.name(name) for name in outputs}

    def name(self, wanted: str) -> str:
        while wanted in self.names:
            wanted += "_"
        self.names.add(wanted)
        return wanted

    def input(self, name: str, dtype: str, size: int) -> str:
        self.inputs.append({"name": name, "type": ELEMENTS[dtype].lower(), "shape": ["N", size]})
        return name

    def output(self, name: str, value: str, dtype: str, *sizes: int) -> None:
        name = self.output_names[name]
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append({"name": name, "type": ELEMENTS[dtype].lower(), "shape": ["N", *sizes]})

    def constant(self, name: str, values: Any, dtype: Any = None) -> str:
        array = np.asarray(values, dtype, order="C")
        self.constants.append(self.onnx.numpy_helper.from_array(array, self.name(name)))
        return str(self.constants[-1].name)

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        result = self.name(op)
        self.nodes.append(self.onnx.helper.make_node(op, inputs, [result], domain=domain, **attributes))
        return result

    def cast(self, value: str, dtype: str, to: str) -> str:
        return value if dtype == to else self.add("Cast", value, to=getattr(self.onnx.TensorProto, ELEMENTS[to]))

    def joined(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)

    def checked(self, about: Mapping[str, str]) -> Any:
        """The whole as an onnx.ModelProto."""
        helper = self.onnx.helper
        ends = [
            [
                helper.make_tensor_value_info(
                    end["name"], getattr(self.onnx.TensorProto, end["type"].upper()), end["shape"]
                )
                for end in some
            ]
            for some in (self.inputs, self.outputs)
        ]
        used = sorted({"", *(node.domain for node in self.nodes)})
        made = helper.make_model(
            helper.make_graph(self.nodes, "minisig", *ends, initializer=self.constants),
            producer_name="minisig",
            producer_version=__version__,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid(domain, VERSIONS[domain]) for domain in used],
        )
        helper.set_model_props(made, dict(about))
        try:
            self.onnx.checker.check_model(made, full_check=True)
        except Exception as error:  # of several kinds, not all of them onnx's own
            raise MinisigError(f"onnx finds its own mistake in the graph: {one_line(error)}") from error
        return made


def graph_of(model: Model) -> Graph:
    """The graph from the raw rows to the answers."""
    net = model.net
    for name, layer in net.layers.items():
        if type(layer) not in LAYERS:  # a class derived from one of ours may compute anything
            raise UsageError(
                f"layer {name} ({type(layer).__name__}) cannot be exported to ONNX, only dense layers, dropout and "
                f"minisig's own activations can"
            )
    model.require_rows()
    if sum(w.nbytes for w in net.params.values()) > MAX_BYTES:
        raise UsageError(f"{model.info.name}: its parameters are larger than an ONNX file can be, 2 GB")
    table = model.prepared if isinstance(model.prepared, TableInputs) else None
    graph = Graph(table.names if table else ["x"], OUTPUTS[model.task])
    z = _columns(graph, table) if table else _vectors(graph, model)
    dtype = net.backend.dtype.name
    z = graph.cast(z, "float32", dtype)
    for name, layer in net.layers.items():
        params = [graph.constant(f"{name}.{key}", net.backend.to_host(w)) for key, w in layer.params.items()]
        z = LAYERS[type(layer)](graph, dtype, z, *params)
    _answers(graph, model, z, dtype)
    return graph


def _columns(graph: Graph, table: TableInputs) -> str:
    """x (N, inputs) as `TableInputs.encode` makes it; columns of numbers that stand side by side go together."""
    parts: list[str] = []
    named = zip(graph.input_names, table.columns, strict=True)
    for kind, run in groupby(named, key=lambda pair: type(pair[1])):
        pairs: list[tuple[str, Any]] = [*run]
        parts += [_standardised(graph, pairs)] if kind is Numeric else [_places(graph, *pair) for pair in pairs]
    return graph.joined(parts)


def _standardised(graph: Graph, run: list[tuple[str, Any]]) -> str:
    v = graph.joined([graph.input(name, "float64", 1) for name, _ in run])
    fill, centre, scale = (
        graph.constant(key, [[getattr(column, key) for _, column in run]], np.float64)
        for key in ("fill", "centre", "scale")
    )
    known = graph.add("LessOrEqual", graph.add("Abs", v), graph.constant("largest", np.finfo(np.float64).max))
    v = graph.add("Where", known, v, fill)  # NaN and ∞ are not less than the largest
    return graph.cast(graph.add("Div", graph.add("Sub", v, centre), scale), "float64", "float32")


def _places(graph: Graph, name: str, column: Categorical) -> str:
    """A one in the place that `Categorical.places` finds for each cell."""
    other = len(column.values) if column.other else -1
    missing = len(column.values) + column.other if column.missing else -1
    places = dict.fromkeys(spellings(), missing) if missing != other else {}
    places |= {value: i for i, value in enumerate(column.values)}
    found = graph.add(
        "LabelEncoder",
        graph.input(name, "string", 1),
        domain=ML,
        keys_strings=[*places],
        values_int64s=[*places.values()],
        default_int64=other,
    )
    # Not OneHot, for which −1 is the last place.
    ones = graph.add("Equal", found, graph.constant("places", [range(column.width)], np.int64))
    return graph.cast(ones, "bool", "float32")


def spellings() -> Iterator[str]:
    """Every word that is in MISSING when it is lowered."""
    for word in sorted(MISSING):
        for letters in product(*(sorted({letter, letter.upper()}) for letter in word)):
            yield "".join(letters)


def _vectors(graph: Graph, model: Model) -> str:
    """x (N, n) as `VectorInputs` scales it."""
    x = graph.input(graph.input_names[0], "float64", model.info.inputs)
    vectors = model.prepared
    if isinstance(vectors, VectorInputs) and vectors.pixels:
        x = graph.add("Div", graph.cast(x, "float64", "float32"), graph.constant("half", 127.5, np.float32))
        return graph.add("Sub", x, graph.constant("one", 1, np.float32))
    if isinstance(vectors, VectorInputs) and vectors.centre:
        x = graph.add("Sub", x, graph.constant("centre", [vectors.centre], np.float64))
        x = graph.add("Div", x, graph.constant("half", [vectors.half], np.float64))
    return graph.cast(x, "float64", "float32")


def _answers(graph: Graph, model: Model, z: str, dtype: str) -> None:
    """What `Model.answers` and `Model.probabilities` make of logits z (N, C)."""
    C = model.info.outputs
    if model.task == "classification":
        labels = model.answers(np.eye(C))
        kind = labels.dtype.name
        if kind not in ("int64", "float64"):
            kind, labels = "string", np.array([as_word(label) for label in labels], object)
        best = graph.add("ArgMax", z, axis=1, keepdims=0)
        graph.output("label", graph.add("Gather", graph.constant("classes", labels), best), kind)
    z = graph.cast(z, dtype, "float64")
    if model.task == "classification":
        graph.output("probabilities", graph.add("Softmax", z, axis=1), "float64", C)
        return
    if model.task == "labels":
        graph.output("probabilities", graph.add("Sigmoid", z), "float64", C)
        return
    if isinstance(model.prepared, TableInputs):
        target = model.prepared.target
        z = graph.add("Mul", z, graph.constant("scale", [target.scale], np.float64))
        z = graph.add("Add", z, graph.constant("centre", [target.centre], np.float64))
    if C == 1:
        z = graph.add("Squeeze", z, graph.constant("axis", [1], np.int64))
    graph.output("prediction", z, "float64", *[C] * (C > 1))


def _dense(graph: Graph, dtype: str, x: str, W: str, b: str) -> str:
    # Not Gemm, which onnxruntime 1.15 merges with an activation that comes next, and then has not for float64.
    return graph.add("Add", graph.add("MatMul", x, W), b)


def _dropout(graph: Graph, dtype: str, x: str) -> str:
    return x


def _scaled_tanh(graph: Graph, dtype: str, z: str) -> str:
    a, b = (graph.constant(name, value, dtype) for name, value in (("A", A), ("B", B)))
    return graph.add("Mul", graph.add("Tanh", graph.add("Mul", z, b)), a)


def _softplus(graph: Graph, dtype: str, z: str) -> str:
    # max(0, z) + ln(1 + e^−|z|): onnxruntime has Softplus for float32 alone,
    e = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    ln = graph.add("Log", graph.add("Add", e, graph.constant("one", 1, dtype)))
    return graph.add("Add", graph.add("Relu", z), ln)


def _erf(graph: Graph, dtype: str, z: str) -> str:
    # and so it has Erf, which costs a network of float64 its last digits.
    return graph.cast(graph.add("Erf", graph.cast(z, dtype, "float32")), "float32", dtype)


def _named(op: str) -> Callable[..., str]:
    return lambda graph, dtype, z: graph.add(op, z)


LAYERS: dict[type, Callable[..., str]] = {  # (graph, dtype, input, parameters) -> output
    Dense: _dense,
    Dropout: _dropout,
    Sigmoid: _named("Sigmoid"),
    ScaledTanh: _scaled_tanh,
    Tanh: _named("Tanh"),
    ReLU: _named("Relu"),
    Softplus: _softplus,
    Erf: _erf,
}
