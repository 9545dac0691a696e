"""A text of one's own from any file: what is held out, what a token is, and what cannot be read."""

import gzip
import tracemalloc
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisig.data import load
from minisig.data.prepared import EOS, UNK, UNKNOWN_CHARACTER, Noticed, TextInputs, words_of
from minisig.data.text import _held_out, is_text
from minisig.errors import DataError
from tests.data.real import FOLDERS, needs_ptb

PARTS = ("train", "valid", "test")
LINES = "".join(f"the {i % 7} cats and {i % 5} dogs é\n" for i in range(200))
KINDS = ("words", "characters", "bytes")
SPACES = "".join(chr(c) for c in range(0x110000) if chr(c).isspace())
TEXTS = st.text(st.sampled_from(SPACES + "ab<eosunk>é🙈\ufeff\u200b\u180e")) | st.text()


@pytest.fixture
def write(tmp_path):
    def file(content, name="mine.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def read(path, **settings):
    return load({"source": "text", "path": str(path), "steps": 2, **settings})


def texts(data):
    """What the parts are decoded to, in their order."""
    return [data.prepared.decode(getattr(data, part).tokens[1:]) for part in PARTS]


def naive_words(text):
    found = []
    for line in text.split("\n"):
        if line.split():
            found += [*line.split(), EOS]
    return found


# What is held out


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_single_file_the_end_is_held_out_between_lines(write, kind):
    parts = texts(read(write(LINES), tokens=kind))
    assert "".join(parts) == LINES
    assert all(part.endswith("\n") for part in parts)
    for part in parts[1:]:
        assert len(part) == pytest.approx(0.05 * len(LINES), abs=0.02 * len(LINES))


def test_without_lines_it_is_cut_between_words(write):
    text = LINES.replace("\n", " ")
    parts = texts(read(write(text), tokens="characters"))
    assert "".join(parts) == text
    assert [part[-1] for part in parts] == [" "] * 3
    words = read(write(text), tokens="words")
    both = [word for part in texts(words) for word in part.split()]
    assert both == text.split()


def test_without_words_it_is_cut_between_characters(write):
    text = "数é🙈" * 300
    parts = texts(read(write(text)))
    assert "".join(parts) == text
    assert all(parts)
    assert UNKNOWN_CHARACTER not in "".join(parts)


@given(st.text(st.sampled_from("ab é数🙈\n"), max_size=300))
def test_the_parts_are_the_text_and_never_begin_within_a_character(text):
    parts = _held_out(text.encode())
    assert list(parts) == list(PARTS)
    assert b"".join(parts.values()) == text.encode()
    assert "".join(part.decode() for part in parts.values()) == text  # strictly decoded, each on its own


@pytest.mark.parametrize(("kind", "text"), [("words", "a b\n"), ("characters", "abc"), ("bytes", "a"), (None, "xyz")])
def test_a_text_too_short_to_hold_some_of_it_out_is_refused(write, kind, text):
    with pytest.raises(DataError, match=r"mine\.txt: no text to (train|hold out); use a longer one"):
        read(write(text), tokens=kind)


def test_a_text_that_ends_in_blank_lines_has_no_words_to_hold_out(write):
    with pytest.raises(DataError, match="no text to hold out"):
        read(write("a b c\n" * 20 + "\n" * 100), tokens="words")


# Which files


def test_of_a_folder_all_texts_are_read_in_the_order_of_their_names(tmp_path, write):
    write("third line", "c.txt")
    write("\ufefffirst\r\nline\r\n", "a.txt")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"second line\n"))
    write("not this\n", "d.csv")
    write("nor this\n", "e.txt~")
    data = read(tmp_path)
    assert "".join(texts(data)) == "first\nline\nsecond line\nthird line\n"
    assert data.prepared.tokens == "characters"


def test_parts_named_as_mikolov_names_them_are_words_and_others_beside_them_are_left_alone(tmp_path, write):
    for part in PARTS:
        write(f"the {part} text\n", f"ptb.{part}.txt")
    write("a readme\n", "readme.txt")
    data = read(tmp_path)
    assert data.prepared.tokens == "words"
    assert "readme" not in data.prepared.vocabulary
    assert texts(data) == ["the train text\n", "the <unk> text\n", "the <unk> text\n"]


def test_a_folder_without_texts_and_what_is_not_there_are_refused(tmp_path, write):
    with pytest.raises(DataError, match=r"holds no \.txt files"):
        read(tmp_path)
    with pytest.raises(DataError, match=r"nosuch\.txt: no such file or folder"):
        read(tmp_path / "nosuch.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(DataError, match=r"folder\.txt: not a file"):
        read(tmp_path)


def test_a_folder_is_called_by_its_name_from_within_it_too(tmp_path, write, monkeypatch):
    write(LINES)
    monkeypatch.chdir(tmp_path)
    assert read(".").name == tmp_path.name


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("a.txt", "a.TXT", "a.txt.gz", "a.md")),
        *((name, False) for name in ("a.csv", "txt", "a" * 5000, "")),
    ],
)
def test_a_file_is_a_text_by_its_name(name, is_one):
    assert is_text(name) == is_one


def test_a_folder_is_a_text_if_it_holds_some_and_is_no_run(tmp_path, write):
    assert not is_text(tmp_path)
    write(LINES, "a.txt.gz")
    assert is_text(tmp_path)
    write("{}", "config.json")
    assert not is_text(tmp_path)


# What a token is


def test_a_file_is_characters_a_large_one_words_and_a_folder_of_parts_words(write, tmp_path, monkeypatch):
    assert read(write(LINES)).prepared.tokens == "characters"
    monkeypatch.setattr("minisig.data.text.OF_WORDS", len(LINES.encode()))
    assert read(write(LINES)).prepared.tokens == "characters"
    assert read(write(LINES + "a\n")).prepared.tokens == "words"
    assert read(write(LINES + "a\n"), tokens="bytes").prepared.tokens == "bytes"
    for part in PARTS:
        write("a few words\n", f"{part}.txt")
    assert read(tmp_path).prepared.tokens == "words"
    assert read(tmp_path, tokens="characters").prepared.tokens == "characters"


def test_characters_have_numbers_by_frequency_and_others_are_one(write):
    data = read(write("aaabbc\n" * 100 + "zé\n" * 3), tokens="characters")
    assert data.prepared.vocabulary == [UNKNOWN_CHARACTER, "a", "b", "\n", "c"]
    assert texts(data)[2].endswith(f"{UNKNOWN_CHARACTER * 2}\n")
    assert data.train.tokens[0] == data.prepared.vocabulary.index("\n")
    assert data.of_loss == {"bits": True}


def test_the_rarest_characters_have_no_number_beyond_the_vocabulary(write):
    data = read(write("aaabbc\n" * 100), tokens="characters", vocabulary=4)
    assert data.prepared.vocabulary == [UNKNOWN_CHARACTER, "a", "b", "\n"]
    assert "".join(texts(data)) == f"aaabb{UNKNOWN_CHARACTER}\n" * 100


def test_bytes_are_themselves(write):
    content = bytes(range(1, 256)) * 3
    data = read(write(content), tokens="bytes")
    assert data.classes == 256
    assert data.prepared.vocabulary == []
    tokens = np.concatenate([getattr(data, part).tokens[1:] for part in PARTS])
    assert bytes(tokens.tolist()) == content
    assert data.train.tokens[0] == ord("\n")


def test_the_embedded_tales_are_characters_that_are_all_of_the_file():
    data = load("text")
    with gzip.open(files("minisig.data") / "tales.txt.gz", "rt", encoding="utf-8") as file:
        tales = file.read()
    numbers = data.prepared.encode(tales)
    np.testing.assert_array_equal(np.concatenate([getattr(data, part).tokens[1:] for part in PARTS]), numbers)
    assert data.name == "tales"
    assert data.classes == len(data.prepared.vocabulary) == len(set(data.prepared.vocabulary))
    assert set(tales[: int(0.9 * len(tales))]) <= set(data.prepared.vocabulary)
    assert data.content == ""


def test_what_was_read_is_told(write):
    (line,) = read(write(LINES)).about
    assert line.startswith("mine.txt: characters, ")
    sizes = [len(part) for part in texts(read(write(LINES)))]
    assert line.endswith(f"{sizes[0]:,}, {sizes[1]:,}, {sizes[2]:,} to train, to validate, to test")


# Files as they are


@pytest.mark.parametrize("kind", KINDS)
def test_windows_line_ends_a_byte_order_mark_and_gzip_change_nothing(write, kind):
    plain = read(write(LINES), tokens=kind)
    content = b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n").encode()
    for other in (write(content), write(gzip.compress(content), "mine.txt.gz")):
        found = read(other, tokens=kind)
        assert found.prepared == plain.prepared
        for part in PARTS:
            np.testing.assert_array_equal(getattr(found, part).tokens, getattr(plain, part).tokens)


@pytest.mark.parametrize("kind", ["words", "characters", None])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("place", [0, 150, 199])
def test_bytes_that_are_not_utf8_are_told_by_file_and_line_with_the_remedy(write, kind, ends, place):
    lines = LINES.replace("\n", ends).encode("latin-1").splitlines(keepends=True)
    lines = [line if number >= place else line.replace(b"\xe9", b"e") for number, line in enumerate(lines)]
    path = write(b"".join(lines))
    with pytest.raises(DataError) as error:
        read(path, tokens=kind)
    assert str(error.value).startswith(f"{path}: line {place + 1} is not UTF-8 text, it has the byte 0xe9; ")
    assert "save the file as UTF-8, or train with --set data.tokens=bytes" in str(error.value)
    assert read(path, tokens="bytes").classes == 256


def test_of_a_folder_the_file_is_told_that_is_not_utf8(write, tmp_path):
    write(LINES, "a.txt")
    write(b"fine\n\nnot \xff\n", "b.txt")
    with pytest.raises(DataError, match=r"b\.txt: line 3 is not UTF-8 text, it has the byte 0xff"):
        read(tmp_path)


@pytest.mark.parametrize("content", [LINES.encode("utf-16"), b"abc\0def\n" * 100], ids=["UTF-16", "NUL"])
@pytest.mark.parametrize("kind", [*KINDS, None])
def test_zeros_are_refused(write, kind, content):
    with pytest.raises(DataError, match=r"mine\.txt: not a text in UTF-8, it holds bytes of zero; save it as UTF-8"):
        read(write(content), tokens=kind)


@pytest.mark.parametrize("content", ["", " \n\t\r\n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_file_is_refused(write, kind, content):
    with pytest.raises(DataError, match=r"mine\.txt: the file holds no words"):
        read(write(content), tokens=kind)


def test_one_distinct_character_or_word_is_nothing_to_predict(write):
    with pytest.raises(DataError, match="only one distinct character; there is nothing to predict"):
        read(write("a" * 1000), tokens="characters")
    with pytest.raises(DataError, match="only one distinct word; there is nothing to predict"):
        read(write("a " * 1000), tokens="words")


# Large ones


@pytest.mark.parametrize(("kind", "each"), [("characters", 45), ("words", 45), ("bytes", 30)])
def test_memory_for_one_line_of_megabytes_is_bounded(write, kind, each):
    """At so many bytes for each of the file; tokens alone take eight."""
    path = write("to be or not é " * 100_000)
    size = path.stat().st_size
    tracemalloc.start()
    data = read(path, tokens=kind)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(len(getattr(data, part).tokens) - 1 for part in PARTS) >= 5 * 100_000
    assert peak < each * size


def test_of_a_million_distinct_words_the_first_have_numbers(write):
    data = read(write("".join(f"w{i:07} " for i in range(1_000_000)) + "\n"), tokens="words", vocabulary=1000)
    assert data.prepared.vocabulary == [UNK, EOS, *(f"w{i:07}" for i in range(998))]
    assert data.train.tokens[:1000].tolist() == [1, *range(2, 1000), 0]
    assert (data.train.tokens[999:-1] == 0).all()


# Encoding and decoding


@given(TEXTS)
def test_words_are_what_split_says_of_every_line(text):
    assert list(words_of(text)) == naive_words(text)


@given(TEXTS)
def test_words_come_back_with_single_blanks(text):
    words = naive_words(text)
    inputs = TextInputs("words", sorted({EOS, UNK, *words}))
    tokens = inputs.encode(text)
    assert [inputs.vocabulary[token] for token in tokens] == words
    if "<eos>" not in text.split():
        lines = [" ".join(line.split()) for line in text.split("\n") if line.split()]
        assert inputs.decode(tokens.tolist()) == "".join(f"{line}\n" for line in lines)


@given(TEXTS)
def test_characters_come_back(text):
    inputs = TextInputs("characters", sorted({"\n", UNKNOWN_CHARACTER, *text}))
    assert inputs.decode(inputs.encode(text).tolist()) == text


@given(TEXTS, st.sets(st.characters(), max_size=5))
def test_characters_without_a_number_are_counted(text, known):
    inputs, noticed = TextInputs("characters", sorted({"\n", UNKNOWN_CHARACTER, "a", "é", *known})), Noticed()
    numbers = {token: number for number, token in enumerate(inputs.vocabulary)}
    tokens = inputs.encode(text, noticed)
    assert tokens.tolist() == [numbers.get(c, numbers[UNKNOWN_CHARACTER]) for c in text]
    unknown = Counter(c for c in text if c not in numbers)
    assert noticed.unread.get("characters", {}) == unknown


@given(st.binary() | TEXTS)
def test_bytes_come_back(content):
    inputs = TextInputs("bytes")
    raw = content if isinstance(content, bytes) else content.encode()
    tokens = inputs.encode(content)
    assert tokens.tolist() == list(raw)
    assert inputs.decode(tokens.tolist()) == raw.decode("utf-8", "replace")


def test_unknown_words_are_counted_and_told():
    inputs, noticed = TextInputs("words", [EOS, UNK, "the"]), Noticed()
    assert inputs.encode("the cat the cat ox\n", noticed).tolist() == [2, 1, 2, 1, 1, 0]
    assert noticed.lines() == ["'cat', 'ox' (3 words) not in the training text, taken as unknown"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("the", [2]), ("the the", [2, 2]), ("the\n", [2, 0]), ("the\n ", [2, 0]), ("the \nthe", [2, 0, 2]), ("", [])],
)
def test_a_text_that_goes_on_has_no_end_of_its_last_line(text, tokens):
    assert TextInputs("words", [EOS, UNK, "the"]).begin(text).tolist() == tokens


# As before


def naive_vocabulary(words, most):
    """As minisig 0.1 numbered words."""
    counts = Counter(words)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    rare = [word for word in (EOS, UNK) if word not in ranked[:most]]
    kept = {EOS, UNK, *[word for word in ranked if word not in (EOS, UNK)][: most - 2]}
    return rare + [word for word in ranked if word in kept and word not in rare]


@given(st.lists(st.sampled_from(["a", "b", "c", "d", UNK, "\n"]), min_size=5), st.integers(3, 8))
def test_the_vocabulary_of_words_is_as_it_was(tmp_path_factory, words, most):
    text = " ".join(["a b\n", *words])
    folder = tmp_path_factory.mktemp("text")
    for part in PARTS:
        (folder / f"{part}.txt").write_text(text)
    data = read(folder, vocabulary=most)
    assert data.prepared.vocabulary == naive_vocabulary(naive_words(text), most)


@needs_ptb
@pytest.mark.parametrize("most", [10_000, 500])
def test_the_treebank_has_the_numbers_it_had(most):
    data = load({"source": "ptb", "vocabulary": most})
    words = {}
    for part in PARTS:
        (path,) = FOLDERS["ptb"].glob(f"*{part}.txt*")
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        words[part] = naive_words(content.decode())
    vocabulary = naive_vocabulary(words["train"], most)
    assert data.prepared == TextInputs("words", vocabulary)
    numbers = {word: number for number, word in enumerate(vocabulary)}
    for part in PARTS:
        expected = [numbers[EOS], *(numbers.get(word, numbers[UNK]) for word in words[part])]
        assert getattr(data, part).tokens.tolist() == expected
