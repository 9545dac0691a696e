"""What a language model writes on the device: the text that it writes on NumPy."""

import pytest

from minisig.backends import get_backend
from minisig.data.prepared import TextInputs
from minisig.diagnostics.writing import Drawing, looked_at, sample
from minisig.network import recurrent

pytestmark = pytest.mark.gpu

LETTERS = TextInputs("characters", ["\n", "\ufffd", *"abcdefgh "])


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
def test_the_same_seed_writes_the_same_text(model):
    here = recurrent(LETTERS.size, [16], model=model, init="glorot", rng=1)
    there = here.on(get_backend("cupy", "float32"))
    for drawing in (Drawing(), Drawing(0.5, top_k=4), Drawing(0)):
        texts = ["".join(sample(net, LETTERS, "abc", 60, drawing, seed=3)) for net in (here, there)]
        assert texts[0] == texts[1]
        assert len(texts[0]) == 60


def test_a_guess_looked_at_the_same_letters():
    here = recurrent(LETTERS.size, [16], init="ortho+ep", rng=1)
    there = here.on(get_backend("cupy", "float32"))
    tokens = LETTERS.encode("abc abd abe")
    assert looked_at(there, there.backend.xp.asarray(tokens)) == pytest.approx(looked_at(here, tokens), rel=1e-4)
