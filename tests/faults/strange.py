"""JSON, tensors and lines with something wrong in them."""

import json
import struct
from copy import deepcopy

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
