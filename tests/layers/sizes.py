"""Of what recurrent layers are tested with: steps, examples, inputs, neurons and words, no two alike."""

T, B, N, H, V = 7, 3, 4, 5, 6
