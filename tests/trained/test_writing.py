"""A language model at work: it draws as its probabilities say, and scores as training did."""

from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, softmax
from scipy.stats import chi2

import minisig as ms
from minisig.data.prepared import EOS, UNK, UNKNOWN_CHARACTER, Noticed, TextInputs
from minisig.diagnostics.writing import Drawing, sample, step
from minisig.network import recurrent
from minisig.seeds import stream
from minisig.trained.writing import score, score_lines

CHARACTERS = TextInputs("characters", ["\n", UNKNOWN_CHARACTER, "a", "b"])
WORDS = TextInputs("words", [EOS, UNK, "the", "cat"])
LETTERS = "".join(f"a{'b' * (i % 3)}{'a' * (i % 7)} b\n" for i in range(400))


def net(V=4, H=5, model="rnn", rng=0, scale=3.0):
    """A small network that has preferences."""
    made = recurrent(V, [H], model=model, init="glorot", dtype="float64", rng=rng)
    for w in made.params.values():
        w *= scale
    made.params["dense.b"][...] = np.linspace(-0.5, 0.5, V)
    return made


def logits(network, tokens):
    """(T, V), of one long forward pass."""
    return network.forward(np.array(tokens)[:, None])[:, 0]


def written(network, text, prompt="", length=20, seed=0, **drawing):
    return "".join(sample(network, text, prompt, length, Drawing(**drawing), seed))


# Drawing


@pytest.mark.parametrize(
    "drawing", [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.6}], ids=str
)
def test_sequences_are_drawn_with_their_probabilities(drawing):
    """Chi-square over all sequences of three tokens; with this many draws one in a million would fail by chance."""
    network, own, draws = net(), Drawing(**drawing), 3000
    expected = {}
    for sequence in product(range(4), repeat=3):
        tokens, p = [CHARACTERS.start, 2], 1.0  # after the prompt "a"
        for token in sequence:
            p *= naive(logits(network, tokens)[-1], **drawing)[token]
            tokens.append(token)
        expected[CHARACTERS.decode(sequence)] = p
    assert sum(expected.values()) == pytest.approx(1)
    counts = dict.fromkeys(expected, 0)
    for seed in range(draws):
        counts["".join(sample(network, CHARACTERS, "a", 3, own, seed))] += 1
    assert all(expected[sequence] > 0 for sequence, n in counts.items() if n)
    often = [sequence for sequence, p in expected.items() if p * draws >= 5]
    cells = [(counts[sequence], draws * expected[sequence]) for sequence in often]
    if len(often) < len(expected):
        rest = [sequence for sequence in expected if sequence not in often]
        cells.append((sum(counts[one] for one in rest), draws * sum(expected[one] for one in rest)))
    statistic = sum((n - e) ** 2 / e for n, e in cells if e > 0)
    assert len(cells) > 3
    assert statistic < chi2.isf(1e-6, len(cells) - 1)


def naive(z, temperature=1.0, top_k=None, top_p=None):
    """The probabilities of tokens once more, one after the other."""
    p = [exp((value - max(z)) / temperature) for value in z]
    order = sorted(range(len(z)), key=lambda token: (-z[token], token))
    kept = order[:top_k] if top_k else order
    if top_p is not None:
        total, reached, fewer = sum(p[token] for token in kept), 0.0, []
        for token in kept:
            if fewer and reached / total >= top_p:
                break
            fewer.append(token)
            reached += p[token]
        kept = fewer
    total = sum(p[token] for token in kept)
    return [p[token] / total if token in kept else 0.0 for token in range(len(z))]


LOGITS = arrays(np.float32, st.integers(1, 12), elements=st.integers(-40, 40).map(lambda n: n / 8))


@given(LOGITS, st.floats(0.05, 20), st.none() | st.integers(1, 15), st.none() | st.floats(0.01, 1))
def test_temperature_top_k_and_top_p_are_as_a_naive_version_has_them(z, temperature, top_k, top_p):
    if top_p is not None:  # not where rounding decides
        p = sorted(naive(z.tolist(), temperature, top_k), reverse=True)
        assume(abs(np.cumsum(p) - top_p).min() > 1e-9)
    found = Drawing(temperature, top_k, top_p).probabilities(z)
    np.testing.assert_allclose(found, naive(z.tolist(), temperature, top_k, top_p), atol=1e-12)


@given(LOGITS, st.sampled_from([0.0, 1e-320, 1e-300, 1e-30]))
def test_without_temperature_it_is_the_most_probable_token(z, temperature):
    found = Drawing(temperature).probabilities(z)
    assert found.sum() == pytest.approx(1)
    assert set(np.flatnonzero(found)) <= set(np.flatnonzero(z == z.max()))
    if temperature == 0:
        assert Drawing(0).token(z, np.random.default_rng(0)) == z.argmax()


@given(LOGITS, st.integers(0, 100))
def test_a_token_without_probability_is_never_drawn(z, seed):
    drawing = Drawing(top_k=2, top_p=0.7)
    assert drawing.probabilities(z)[drawing.token(z, np.random.default_rng(seed))] > 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(({"temperature": value}, "temperature") for value in (-1, float("nan"), float("inf"))),
        *(({"top_p": value}, "top_p") for value in (0, 1.1, float("nan"))),
        ({"top_k": 0}, "top_k"),
    ],
)
def test_a_drawing_that_is_none_is_refused(wrong, message):
    with pytest.raises(ms.UsageError, match=f"^{message}: expected"):
        Drawing(**wrong)


# Steps


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("hidden", [[6], [6, 5]])
def test_steps_of_any_length_are_one_long_pass(model, hidden):
    network = recurrent(4, hidden, model=model, init="glorot", dtype="float64", rng=1)
    tokens = np.random.default_rng(0).integers(0, 4, 1203).tolist()
    whole = logits(network, tokens)
    states = {}
    for i in range(60):
        z, states = step(network, [tokens[i]], states)
        np.testing.assert_allclose(z, whole[i], rtol=1e-12, atol=1e-12)
    z, states = step(network, tokens[60:1202], states)  # more than are taken at a time
    np.testing.assert_allclose(z, whole[1201], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(step(network, tokens[1202:], states)[0], whole[1202], rtol=1e-12, atol=1e-12)


def test_the_text_goes_on_from_the_prompt_and_from_what_was_written():
    network = net(model="gru")
    text = written(network, CHARACTERS, "ab", 30, temperature=0)
    tokens = [0, 2, 3]
    for character in text:
        assert CHARACTERS.vocabulary[logits(network, tokens)[-1].argmax()] == character
        tokens.append(CHARACTERS.vocabulary.index(character))


def test_the_same_seed_writes_the_same_and_another_another():
    texts = [written(net(), CHARACTERS, length=50, seed=seed) for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    assert [len(text) for text in texts] == [50] * 3
    assert written(net(), CHARACTERS, length=20, seed=3) == texts[0][:20]


# Words and bytes


def certain(follows):
    """A network that writes after each token one only, whatever came before."""
    V = len(follows)
    made = recurrent(V, [V], init="glorot", dtype="float64")
    for w in made.params.values():
        w[...] = 0
    made.params["embedding.E"][...] = 40 * np.eye(V) - 20  # h is 1 at the place of the token, else 0
    made.params["rnn0.Wx"][...] = np.eye(V)
    made.params["dense.W"][range(V), follows] = 50
    return made


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("", "the cat\nthe cat\nthe"),
        ("the", " cat\nthe cat\nthe cat"),
        ("the ", "cat\nthe cat\nthe cat"),
        ("the cat", "\nthe cat\nthe cat\n"),
        ("the cat\n", "the cat\nthe cat\nthe"),
        ("cat zebra", " the cat\nthe cat\nthe"),
    ],
)
def test_words_are_written_with_blanks_between_and_go_on_in_the_prompts_line(prompt, text):
    assert written(certain([2, 2, 3, 0]), WORDS, prompt, 7) == text


def test_bytes_of_a_character_come_together():
    order = [10, *"é数🙈".encode()]
    follows = np.zeros(256, int)
    follows[order] = [*order[1:], 10]
    pieces = list(sample(certain(follows), TextInputs("bytes"), "", 14, Drawing(), 0))
    assert [piece for piece in pieces if piece] == [*"é数🙈\né", UNKNOWN_CHARACTER]  # the last is cut off


def test_bytes_are_decoded_as_all_of_them_at_once():
    network = recurrent(256, [8], init="glorot", rng=0)
    pieces = list(sample(network, TextInputs("bytes"), "", 400, Drawing(), 0))
    whole = "".join(pieces)
    assert "\ufffd" in whole  # an untrained one writes rubbish
    tokens, states = [10], {}
    rng = stream(0, "sample")
    raw = bytearray()
    for _ in range(400):
        z, states = step(network, tokens, states)
        tokens = [Drawing().token(z, rng)]
        raw += bytes(tokens)
    assert whole == raw.decode("utf-8", "replace")


# Scores


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("length", [1, 7, 499, 501, 1300])
def test_a_score_is_the_naive_sum_of_log_probabilities(model, length):
    network = net(model=model)
    content = "".join(np.random.default_rng(1).choice(["a", "b", "\n", "z"], length))
    tokens = [0, *CHARACTERS.encode(content).tolist()]
    p = log_softmax(logits(network, tokens[:-1]), axis=1)[range(length), tokens[1:]]
    found = score(network, CHARACTERS, content)
    assert found["tokens"] == length
    assert found["loss"] == pytest.approx(-p.mean(), rel=1e-12)
    assert found["perplexity"] == pytest.approx(exp(-p.mean()), rel=1e-12)
    assert found["bits"] == pytest.approx(-p.mean() / log(2), rel=1e-12)
    lines = list(score_lines(network, CHARACTERS, content))
    ends = np.cumsum([line["tokens"] for line in lines])
    assert ends[-1] == length
    for line, end in zip(lines, ends, strict=True):
        assert line["perplexity"] == pytest.approx(exp(-p[end - line["tokens"] : end].mean()), rel=1e-12)


@pytest.mark.parametrize("text", [CHARACTERS, WORDS, TextInputs("bytes")], ids=lambda text: text.tokens)
def test_lines_combine_to_the_whole(text):
    network = net(text.size)
    content = "the cat ab\n\n  a the\nba\nunfinished the"
    found, lines = score(network, text, content), list(score_lines(network, text, content))
    assert sum(line["tokens"] for line in lines) == found["tokens"]
    combined = sum(line["tokens"] * log(line["perplexity"]) for line in lines) / found["tokens"]
    assert combined == pytest.approx(found["loss"], rel=1e-12)
    if text.tokens == "words":
        assert [line["text"] for line in lines] == ["the cat <unk>", "<unk> the", "<unk>", "<unk> the"]
        assert "bits" not in found
    if text.tokens == "bytes":
        assert [line["text"] for line in lines] == content.split("\n")


def test_an_empty_text_has_no_score():
    for text, content in ((CHARACTERS, ""), (WORDS, " \n"), (TextInputs("bytes"), b"")):
        with pytest.raises(ms.UsageError, match="there is no text to score"):
            score(net(text.size), text, content)


def test_unknown_words_of_a_prompt_and_of_a_text_are_noticed():
    noticed = Noticed()
    list(sample(net(), WORDS, "the zebra", 2, Drawing(), 0, noticed))
    score(net(), WORDS, "ox the\n", noticed)
    assert noticed.lines() == ["'zebra', 'ox' (2 words) not in the training text, taken as unknown"]


# From the file alone


@pytest.fixture(scope="module", params=["words", "characters", "bytes"])
def run(request, tmp_path_factory):
    """(the model, its summary, its data, the folder) of a run on a text."""
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "mine.txt"
    if request.param == "words":
        path = folder / "text"
        path.mkdir()
        for part, end in (("train", 400), ("valid", 60), ("test", 80)):
            lines = LETTERS.splitlines(keepends=True)[:end]
            (path / f"{part}.txt").write_text("".join(lines) + ("" if part == "train" else "zebra a\n"))
    else:
        path.write_text(LETTERS, newline="\n")
    given = {"data.tokens": request.param, "iterations": 20, "network.hidden": [12]}
    config = ms.configure(str(path), given)
    data = ms.load_data(config.data)
    summary = ms.run(config, folder / "run")
    return ms.load(folder / "run" / "best.safetensors"), summary, data, path


def test_the_score_of_the_test_text_is_that_of_training_to_the_last_bit(run):
    model, summary, data, path = run
    if path.is_dir():
        content = (path / "test.txt").read_text()
    else:
        content = model.text.decode(data.test.tokens[1:])
        assert LETTERS.endswith(content)
    found = model.score(content)
    assert found["perplexity"] == summary["test_perplexity"]
    assert found["loss"] == summary["test_loss"]
    assert found["tokens"] == len(data.test.tokens) - 1
    if "bits" in found:
        assert found["bits"] == summary["test_bits"]
        assert model.score(content.encode()) == found


def test_step_gives_probabilities_and_states_that_go_on(run):
    model, _, _, _ = run
    p, states = model.step("a b")
    assert p.shape == (model.text.size,)
    assert p.sum() == pytest.approx(1)
    first = model.text.begin("a b").tolist()
    np.testing.assert_array_equal(p, softmax(step(model.net, [model.text.start, *first], {})[0].astype(np.float64)))
    before = {name: np.copy(state) for name, state in states.items()} if model.config.network.model == "rnn" else {}
    again, after = model.step(first, states)
    whole, _ = model.step([*first, *first])
    np.testing.assert_allclose(again, whole, rtol=1e-4, atol=1e-7)
    for name, state in before.items():
        np.testing.assert_array_equal(states[name], state)  # a state can be gone on from twice
    assert after is not states


def test_tokens_that_are_none_are_refused(run):
    model, _, _, _ = run
    _, states = model.step("a")
    with pytest.raises(ms.UsageError, match="at least one token"):
        model.step([], states)
    for wrong in (-1, model.text.size):
        with pytest.raises(ms.UsageError):
            model.step([wrong])


def test_a_model_writes_the_same_as_ever_and_what_it_can_read_again(run):
    model, _, _, path = run
    text = model.sample("a b", 40, seed=5)
    assert text == ms.load(path.parent / "run").sample("a b", 40, seed=5)
    assert text != model.sample("a b", 40, seed=6)
    if model.text.tokens != "bytes":
        assert len(model.text.begin(("a b" if model.text.tokens == "words" else "") + text)) in (40, 42)


def test_a_model_of_images_neither_writes_nor_scores(tmp_path):
    ms.run(ms.configure("digits", {"iterations": 2, "network.hidden": [5]}), tmp_path / "run")
    model = ms.load(tmp_path / "run")
    for use in (model.sample, lambda: model.score("a"), lambda: model.step([1])):
        with pytest.raises(ms.UsageError, match="is no model of a text: it can neither sample nor score one"):
            use()


@pytest.mark.parametrize("use", [lambda model: model.score(b"a\xff"), lambda model: model.step(b"a\xff")])
def test_bytes_that_are_no_text_are_refused_but_by_a_model_of_bytes(run, use):
    model, _, _, _ = run
    if model.text.tokens == "bytes":
        use(model)
    else:
        with pytest.raises(ms.DataError, match="expected text in UTF-8, got the byte 0xff"):
            use(model)


def test_a_run_is_not_resumed_on_another_text(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(LETTERS)
    given = {"iterations": 4, "network.hidden": [5], "optimizer.schedule": "constant"}
    ms.run(ms.configure(str(path), given), tmp_path / "run")
    assert ms.resume(tmp_path / "run", iterations=6)["iterations"] == 6
    _, data, network = ms.restore(tmp_path / "run")
    assert ms.evaluate(network, data.test).perplexity == ms.load(tmp_path / "run").summary["test_perplexity"]
    path.write_text(LETTERS.replace("b", "c", 1))
    with pytest.raises(ms.DataError, match="the data have changed since this run began"):
        ms.resume(tmp_path / "run", iterations=8)
