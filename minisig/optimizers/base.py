"""What an optimizer is: it remembers slots of every parameter and updates the parameter in place."""

from collections.abc import Mapping
from typing import Any, ClassVar

from minisig.backends import Array, Backend
from minisig.gradients import Gradient, Gradients

NO_RATES: Mapping[str, float] = {}


class Optimizer:
    """One of one's own gives `apply`, and `begin` for what is the same for many parameters.

    Its settings, a class `Settings`, are the keyword arguments of its constructor.
    """

    slot_names: ClassVar[tuple[str, ...]] = ()  # what is remembered of every parameter, arrays of its shape
    needs_matrices: ClassVar[bool] = False  # or it makes do with factored gradients

    def __init__(self) -> None:
        self.steps = 0  # made so far
        self.slots: dict[str, dict[str, Array]] = {}  # by parameter, {"dense0.W": {"v": …}}

    def begin(self, learning_rate: float, scale: float | Array) -> Any:
        """Numbers of this step for all parameters with this rate; `steps` counts it already."""
        return -learning_rate * scale

    def apply(self, w: Array, g: Gradient, slots: dict[str, Array], numbers: Any, backend: Backend) -> None:
        """Update one parameter and its slots in place, with what `begin` gave."""
        raise NotImplementedError

    def update(
        self,
        params: Mapping[str, Array],
        gradients: Gradients,
        backend: Backend,
        *,
        learning_rate: float,
        scale: float | Array = 1.0,
        rates: Mapping[str, float] = NO_RATES,
    ) -> None:
        """One step downhill. `scale` multiplies the gradient (clipping), `rates` the rate of parameters by name."""
        self.steps += 1
        numbers: dict[float, Any] = {}
        for name, g in gradients.items():
            rate = learning_rate * rates.get(name, 1.0)
            if rate not in numbers:
                numbers[rate] = self.begin(rate, scale)
            self.apply(params[name], g, self.slots_of(name, params[name], backend), numbers[rate], backend)

    def slots_of(self, name: str, w: Array, backend: Backend) -> dict[str, Array]:
        """The slots of a parameter, which start at 0."""
        if name not in self.slots:
            self.slots[name] = {slot: backend.xp.zeros_like(w) for slot in self.slot_names}
        return self.slots[name]
