"""JSON, tensors and lines with something wrong in them."""

import json
import re
import struct
from contextlib import suppress
from copy import deepcopy
from types import NoneType

import numpy as np

from tests.data.mutations import HUGE, mutated, one_of

# fmt: off
ODD = [
    None, True, False, -1, 0, 1, 2, 17, 19, 20, 21, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(10**30), 0.5, -0.0,
    1e-320, 1e308, -1e308, "", "x", "numpy", "nan", "é\0\u2028", "a\0.csv", "x" * 5000, [], [[]], [0], [1, 2], ["x"],
    {}, {"": {}}, {"loss": 0},
]
WORDS = [
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"-", b"1e999", b"9" * 30, b"\\u0000", b"\\ud800",
    b"\xff",
]
# fmt: on
TYPES = ["F16", "F32", "F64", "BF16", "F8_E4M3", "F8_E5M2", "F4", "C64", "I8", "I64", "U64", "BOOL", "f32", "", 3, None]
EXTENTS = [[], [0], [1], [-1, -2], [2**63, 2], [2**64, 2], [2**31, 2**33], [1.0, 2], ["2"], [[2]], None, 2, {}]
NUMBERS = [np.nan, np.inf, -np.inf, 1e30, -3e38, 1e-40, 0.0]


def strange_json(content, rng):
    """A JSON text with one or two of its values replaced, removed, or named otherwise; or with its bytes mutated."""
    if rng.random() < 0.3:
        return mutated(content, rng, WORDS)
    value = json.loads(content)
    for _ in range(rng.integers(1, 3)):
        inner = value
        while inner:
            key = one_of(list(inner) if isinstance(inner, dict) else range(len(inner)), rng)
            if isinstance(inner[key], dict | list) and rng.random() < 0.7:
                inner = inner[key]
                continue
            match rng.integers(6):
                case 0:
                    del inner[key]
                case 1 if isinstance(inner, dict):
                    inner[one_of(["", "x", "seed", "é" * 300], rng)] = inner.pop(key)
                case 2:
                    inner[key] = "HERE"
                case _:
                    inner[key] = deepcopy(one_of(ODD, rng))
            break
    depth = one_of([10, 1000, 100_000], rng)
    deep = one_of([b"[" * depth + b"]" * depth, b'{"a":' * depth + b"0" + b"}" * depth], rng)
    return json.dumps(value).encode().replace(b'"HERE"', deep, 1)


def strange_quality(content, rng):
    """A summary, most of the time altered in what it says of the model's quality."""
    if rng.random() < 0.2:
        return strange_json(content, rng)
    summary = json.loads(content)
    quality = summary["quality"]
    for _ in range(rng.integers(1, 3)):
        holder, key = inner(quality, rng, (int, float, str, list, dict, NoneType))
        odd = [0, -1, -5, 1e308, -1e308, 1e-320, *BIG, *PLACES, [], {}, None, "", "AAAA", "x" * 5000, [[]], [0.0], True]
        holder[key] = deepcopy(one_of([*odd, quality["rows"]], rng))
    return json.dumps(summary).encode()


def strange_tensors(content, rng):
    """A safetensors file that is not what it says, or says what it should not."""
    length = struct.unpack("<Q", content[:8])[0]
    header, data, text, size = json.loads(content[8 : 8 + length]), content[8 + length :], None, None
    names = [name for name in header if name != "__metadata__"]
    name, other = one_of(names, rng), one_of(names, rng)
    match rng.integers(20 if "__metadata__" in header else 11):
        case 0 | 1:
            return mutated(content, rng, WORDS)
        case 2:
            return content[: int(rng.random() * len(content))]
        case 3:
            header[name]["dtype"] = one_of(TYPES, rng)
        case 4:
            header[name]["shape"] = one_of(EXTENTS, rng)
        case 5:
            header[name]["data_offsets"] = one_of([*EXTENTS, header[other]["data_offsets"]], rng)
        case 6:
            header[name], header[other] = header[other], header[name]
        case 7:
            header[one_of(["x", "", "../x", f"{name}\0"], rng)] = header.pop(name)
        case 8:  # the same name twice
            text = json.dumps(header)[:-1] + f", {json.dumps(name)}: {json.dumps(header[other])}}}"
        case 9:
            size = one_of(HUGE, rng)
        case 10 | 11 | 12:
            start, end = header[name]["data_offsets"]
            values = np.frombuffer(
                data[start:end], header[name]["dtype"].replace("F64", "f8").replace("F32", "f4")
            ).copy()
            values[one_of([0, slice(None), slice(0, None, 3)], rng)] = one_of(NUMBERS, rng)
            data = data[:start] + values.tobytes() + data[end:]
        case 13:
            (entry,) = header["__metadata__"]  # where a run stands, or what a model is
            header["__metadata__"] = one_of([{}, *ODD, {entry: one_of(ODD, rng)}], rng)
        case _:
            ((entry, said),) = header["__metadata__"].items()
            header["__metadata__"][entry] = strange_json(said.encode(), rng).decode(errors="replace")
    text = (text or json.dumps(header)).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def torn(content, rng):
    return content[: int(rng.random() * len(content))] if rng.random() < 0.5 else mutated(content, rng, WORDS)


def strange_line(content, rng):
    if rng.random() < 0.2:
        return torn(content, rng)
    lines = content.splitlines(keepends=True)
    number = int(rng.random() * len(lines))
    lines[number] = strange_json(lines[number], rng) + b"\n"
    return b"".join(lines)


# Model files

PLACES = ["x", "../../x", "/etc/passwd", "C:\\x", ".", "~", "\u202e", "\x1b]0;owned\x07", "a\nb", "<script>", "\ud800"]
BIG = [10**8, 10**9, 2**31, 2**63 - 1, 2**64, 10**30]


def strange_model(content, rng):
    """A model file: what it says of itself altered, or its arrays, or its bytes."""
    if rng.random() < 0.25:
        return strange_tensors(content, rng)
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    ((entry, said),) = header["__metadata__"].items()
    header["__metadata__"][entry] = strange_metadata(said, rng)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def strange_metadata(said, rng):
    """What a model file says of itself, altered in one way or two; each may be meant well or ill."""
    if rng.random() < 0.2:
        return strange_json(said.encode(), rng).decode(errors="replace")
    info = json.loads(said)
    for _ in range(one_of([1, 1, 1, 2], rng)):
        with suppress(LookupError, TypeError, AttributeError):  # where what should be altered has gone already
            one_of([other_place, other_number, other_list, *ATTACKS], rng)(info, rng)
    text = json.dumps(info)
    if rng.random() < 0.15:  # numbers that Python's json would not write
        places = [m.span() for m in re.finditer(r"(?<=[:\[,] )-?\d[\d.e+-]*", text)]
        start, end = one_of(places, rng)
        text = (
            text[:start] + one_of(["NaN", "1e999", "-1e999", "1e-400", "-0", "1" * 400, "0x1", "1_0"], rng) + text[end:]
        )
    return text


def inner(info, rng, kinds):
    """Where a random value of one of these kinds stands: what holds it, and its key."""
    found = []
    waiting = [value for name, value in info.items() if name != "summary" or rng.random() < 0.1]
    places = [(info, name) for name in info]
    while waiting:
        value = waiting.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        places += [(value, key) for key in keys]
        waiting += [value[key] for key in keys]
    found = [(holder, key) for holder, key in places if type(holder[key]) in kinds]
    return one_of(found or [(info, "name")], rng)


def other_place(info, rng):
    """A value is put in the place of another one, perhaps of its kind."""
    kinds = one_of([(int, float), (str,), (list,), (dict,), (bool,), (int, float, str, list, dict, bool)], rng)
    (holder, key), (other, name) = inner(info, rng, kinds), inner(info, rng, kinds)
    holder[key] = deepcopy(other[name])


def other_number(info, rng):
    holder, key = inner(info, rng, (int, float))
    numbers = [0, 1, -1, 2, 3, 0.5, 1e-320, 1e-300, 1e300, -1e300, 1e308, 1e38, *BIG]
    holder[key] = one_of([*numbers, holder[key] * -1, holder[key] + 1, holder[key] * 2], rng)


def other_list(info, rng):
    """One item more or less, twice the same, none, or another order."""
    holder, key = inner(info, rng, (list,))
    if key == "name":
        return
    items = holder[key]
    match rng.integers(6):
        case 0:
            holder[key] = []
        case 1:
            holder[key] = items[:-1]
        case 2:
            holder[key] = items + deepcopy(items[-1:])
        case 3:
            holder[key] = items[::-1]
        case 4:
            holder[key] = [deepcopy(items[0])] * len(items) if items else [0]
        case 5:
            holder[key] = [*items, one_of(ODD, rng)]


def count(size):
    """What an altered size may still be taken for."""
    return size if isinstance(size, int) and size < 1000 else 3


def sizes(info, rng):
    info["config"]["network"]["hidden"] = one_of(
        [[], [10**8], [10**9], [1] * 1000, [10**8] * 3, [1, 10**8], [2**63], [4.0], [4, 4], [-4], [1] * 100_000], rng
    )


def ends(info, rng):
    info[one_of(["inputs", "outputs"], rng)] = one_of([0, 1, 2, 3, 4, 5, 6, 100, *BIG], rng)


def names(info, rng):
    holder, key = inner(info, rng, (str,))
    holder[key] = one_of([*PLACES, "", "x" * 10_000, "1", "nan"], rng)


def parts(info, rng):
    """Other parts, ours, nobody's, and such as another project might have."""
    config, C = info["config"], count(info["outputs"])
    group, name, values = one_of(
        [
            (config["network"], "model", ["rnn", "lstm", "gru", "mlp", "nosuch", "os:system", None]),
            (config["network"], "init", ["lsuv", "ortho+ep", "glorot", "nosuch", ""]),
            (config["network"], "activation", ["relu", "erf", "softplus", "scaled-tanh", "tanh", "x"]),
            (config["network"], "loss", ["sigmoid-cross-entropy", "mean-squared-error", "softmax-cross-entropy", "x"]),
            (config["network"], "dropout", [0.5, 1, 0.999999, -1]),
            (config, "backend", ["cupy", "nosuch", "", None]),
            (config, "dtype", ["float64", "float32", "float16", "object", "O"]),
            (config, "experiment", ["mnist-shallow", "xor", "copy-memory", *PLACES]),
            (config, "batch_size", [1, *BIG]),
            (config, "iterations", [1, *BIG]),
            (config["data"], "path", [*PLACES, None]),
            (config["data"], "source", ["digits", "xor", "mnist", "text", "file", "images", "table", "nosuch"]),
            (config["data"], "augment", [{}, {"alpha": 1e3}, []]),
            (config["optimizer"], "name", ["sgd", "adam", "nosuch"]),
            (info, "loss", ["sigmoid-cross-entropy", "mean-squared-error", "softmax-cross-entropy", "x", ""]),
            (info, "sequences", [True, False]),
            (info, "units", [None, [], [1.0], [0.0, 0.0], [1e308], [-1.0], [1.0] * C]),
            (info, "prepared", [None, {}, {"type": "words", "vocabulary": []}, {"type": "vectors", "inputs": 4}]),
            (info, "format", [0, 1, 2, 3, 4, 10**30]),
            (info, "content", [*PLACES]),
        ],
        rng,
    )
    group[name] = one_of(values, rng)


def prepared(info, rng):
    """How its inputs are made, and its outputs meant."""
    made, n = info["prepared"] or {}, count(info["inputs"])
    target = made.get("target", {})
    column = one_of(made["columns"], rng) if made.get("columns") else {}
    group, name, values = one_of(
        [
            (target, "task", ["classification", "labels", "regression", "x", "", "sequences", None]),
            (
                target,
                "classes",
                [[], ["a"], ["a"] * 3, [1, "1", 1.0], [1e300, 2**63, -1], [10**30] * 3, [None], *PLACES],
            ),
            (target, "names", [[], ["a", "a"], ["x" * 9], [""], ["\x1b[31m", "<b>"]]),
            (target, "centre", [[], [0.0], [1e300], [1e300, -1e300], [None]]),
            (target, "scale", [[], [0.0], [1e300], [1e-320, 1e-320], [-1.0], [1e300, 1e300]]),
            (column, "name", [*PLACES, "", "kind", one_of(made.get("columns") or [{}], rng).get("name", "")]),
            (column, "kind", ["numeric", "categorical", "x", None]),
            (column, "scale", [0, 1e-320, 1e300, -1, 1e-300]),
            (column, "centre", [1e300, -1e300, 1e308]),
            (column, "fill", [1e300, -1e300, None]),
            (column, "values", [[], ["a"] * 3, ["1", "1.0", "01"], ["", "nan", "?"], [*PLACES[:3]]]),
            (column, "other", [True, False, 1]),
            (column, "missing", [True, False, None]),
            (made, "decimal", [",", "", ".,", "x", None]),
            (made, "vocabulary", [[], ["a"], ["a"] * 14, ["w1", "w2"], [*PLACES[:3]], [*"ab\n"], ["", " ", "\n"]]),
            (made, "tokens", ["words", "characters", "bytes", "x", None]),
            (made, "pixels", [True, False]),
            (made, "centre", [[], [0.0], [1e300] * n, [0.0] * n]),
            (made, "half", [[], [1.0], [1e-320] * n, [1e300] * n, [0.0] * n]),
            (made, "image", [[0, 0], [-2, -3], [1, n], [2, 2], [2**40, 2**40], None]),
            (made, "classes", [[], [1, 1, 1], [2**63], [10**30, 1, 2], [-1, -2, -3], [0, 1, 2]]),
            (made, "type", ["table", "vectors", "words", "x", None]),
        ],
        rng,
    )
    group[name] = one_of(values, rng)


ATTACKS = [sizes, ends, names, parts, parts, prepared, prepared, prepared]
