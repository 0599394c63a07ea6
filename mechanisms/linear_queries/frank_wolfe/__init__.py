"""Private Frank-Wolfe on the regularised dual: many noisy choices, nothing measured."""
