"""AdamW (Loshchilov & Hutter 2019): Adam, before each step of which the weights decay, w ← (1 − ηλ) w."""

from typing import Annotated, Any

import msgspec

from minisig.backends import Array
from minisig.optimizers.adam import Adam


class AdamW(Adam):
    """Adam with weights that decay by ηλ a step."""

    class Settings(Adam.Settings, frozen=True):
        weight_decay: Annotated[float, msgspec.Meta(ge=0)] = 0.01

    def __init__(
        self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, weight_decay: float = 0.01
    ) -> None:
        super().__init__(beta1, beta2, epsilon)
        self.weight_decay = weight_decay

    def begin(self, learning_rate: float, scale: float | Array) -> tuple[Any, ...]:
        return *super().begin(learning_rate, scale), learning_rate * self.weight_decay
