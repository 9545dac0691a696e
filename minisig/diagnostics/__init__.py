"""Diagnostics: functions of a network or of its trace, which they never change.

activations.py      statistics of logits and activations, layer by layer, and the information they carry
bounds.py           the gradient on its way back against three bounds; spectral.py has the norms they need
gradient_check.py   backward against complex-step differentiation
finite.py           where NaN or infinity appeared first
memory.py           what a recurrent network remembers
inspection.py       all of it for `minisig inspect`
"""
