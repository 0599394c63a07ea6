"""MST and AIM of SmartNoise Synthesizers, on coded columns with a public domain.

The package would read each column's categories off the data; we fit its transformers to the public
domain instead. It makes as many rows as there are records, which it uses exactly. Noise comes from
OpenDP, which takes no seed: runs do not repeat.
"""

import numpy as np
from driver import Task, main
from snsynth.aim import AIMSynthesizer
from snsynth.base import Synthesizer
from snsynth.mst import MSTSynthesizer
from snsynth.transform.label import LabelTransformer
from snsynth.transform.table import TableTransformer


def mst(task: Task) -> np.ndarray:
    """As published."""
    return _run(task, MSTSynthesizer(epsilon=task.epsilon, delta=task.delta))


def aim(task: Task) -> np.ndarray:
    """As published, with its default settings."""
    return _run(task, AIMSynthesizer(epsilon=task.epsilon, delta=task.delta, verbose=True))


def _run(task: Task, synthesizer: Synthesizer) -> np.ndarray:
    sizes = list(task.cells.values())
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in sizes])
    transformer.fit([tuple(row % k for k in sizes) for row in range(max(sizes))])
    synthesizer.fit([tuple(row) for row in task.train.tolist()], transformer=transformer)
    return np.array(synthesizer.sample())


if __name__ == "__main__":
    main({"mst": mst, "aim": aim}, ("smartnoise-synth", "mbi", "opendp", "jax", "numpy"))
