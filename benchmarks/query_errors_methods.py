"""Methods for linear queries with the settings that are compared, and what the pages call them."""

from collections.abc import Mapping
from typing import Any

METHODS = ("linear-queries", "mwem-queries", "dpfw", "dpam", "dual-query", "dqrs", "fem", "sep-fem")

# As the theorems have them, but for the noise of `dpfw`, of which the printed is far too large.
THEOREM_1 = {"constants": "paper", "alpha": 0.05, "iterate": "uniform"}
THEOREM_3 = {"constants": "paper", "iterate": "uniform"}
PRINTED: dict[str, Mapping[str, Any]] = {
    "dpfw": {"constants": "paper", "noise": "paper", "iterate": "uniform"},
    "dpam": {"variant": "printed", "noise_constant": "paper"},
}
VARIANTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("linear-queries", {"noise": "gaussian"}),
    ("linear-queries", {"noise": "laplace"}),
    ("linear-queries", {"estimator": "projection"}),
    ("dpfw", {"iterate": "last"}),
    ("dpfw", {"certificate_share": 0}),
    ("dpfw", {"cliquewise": True}),
    ("dpam", {"cliquewise": True}),
)

LABELS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    *((f"`{method}`", method, {}) for method in METHODS[:3]),
    ("`dpfw` of Theorem 3", "dpfw", THEOREM_3),
    ("`dpfw` of Theorem 1, α = .05", "dpfw", THEOREM_1),
    ("`dpfw` as printed", "dpfw", PRINTED["dpfw"]),
    ("`dpam`", "dpam", {}),
    ("`dpam` as printed", "dpam", PRINTED["dpam"]),
    *((f"`{method}`", method, {}) for method in METHODS[4:]),
    *(
        (f"`{method}`, " + ", ".join(f"`{name}: {value}`".lower() for name, value in given.items()),
         method, given)
        for method, given in VARIANTS
    ),
)  # fmt: skip
"""Label, name and settings, in the order of tables."""
