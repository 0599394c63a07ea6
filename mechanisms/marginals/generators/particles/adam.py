"""Adam, with moments that may advance on some entries only.

Claim.   With all entries live this is Adam; with some, it is SparseAdam as PyTorch has it: moments
         and parameters of live entries move, those of others stay, and the bias is corrected by
         the number of all steps, not of the steps that an entry took part in.
Source.  Kingma, Ba (2015), Adam: a method for stochastic optimization, ICLR, Algorithm 1.
Oracle.  tests/mechanisms/marginals/generators/particles/test_adam.py runs torch.optim.Adam and
         SparseAdam.

Why the number of all steps: the paper's code does so, and its schedule was chosen with it. (An
entry that is first live late moves by (1 - beta1) / sqrt(1 - beta2) = 3.2 times the learning rate.)
Where we leave PyTorch: its SparseAdam adds epsilon before it corrects the bias, Adam after it; so
do we throughout. With epsilon = 1e-8 the two agree to rounding.
"""

from dataclasses import dataclass

import torch

BETA1, BETA2 = 0.9, 0.999


@dataclass
class Moments:
    """Running means of the gradient and its square, and the number of steps; changed in place."""

    first: torch.Tensor
    second: torch.Tensor
    steps: int = 0

    @classmethod
    def of(cls, parameters: torch.Tensor) -> "Moments":
        """Before the first step."""
        return cls(torch.zeros_like(parameters), torch.zeros_like(parameters))

    def step(
        self,
        parameters: torch.Tensor,
        gradient: torch.Tensor,
        *,
        rate: float,
        epsilon: float,
        live: torch.Tensor | None = None,
        rows: torch.Tensor | None = None,
    ) -> None:
        """Move the parameters, in place.

        Args:
            gradient: of the shape of `parameters`, or of its `rows`.
            live: 1.0 for entries that move and 0.0 for others, of the gradient's shape; None for
                all.
            rows: the rows of the parameters that the gradient is for, int64; None for all.
        """
        self.steps += 1
        whole = rows is None
        first = self.first if whole else self.first[rows]
        second = self.second if whole else self.second[rows]
        up_first = (gradient - first).mul_(1 - BETA1)
        up_second = gradient.square().sub_(second).mul_(1 - BETA2)
        if live is not None:
            up_first.mul_(live)
            up_second.mul_(live)
        first += up_first
        second += up_second
        correction = (1 - BETA2**self.steps) ** 0.5
        move = first / (second.sqrt().div_(correction).add_(epsilon))
        move.mul_(-rate / (1 - BETA1**self.steps))
        if live is not None:
            move.mul_(live)
        if whole:
            parameters += move
        else:
            self.first[rows] = first
            self.second[rows] = second
            parameters[rows] += move
