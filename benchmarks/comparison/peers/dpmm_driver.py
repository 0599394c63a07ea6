"""MST, AIM and PrivBayes of dpmm, on coded columns with a public domain (so without its binning).

What we set: one process; AIM's largest model 80 MB, which the pipeline would leave unbounded; as
many rows as the fitted model estimates there are, since the number of records is private. Noise
comes from OpenDP, which takes no seed: runs do not repeat.
"""

import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline
from dpmm.pipelines.base import MMPipeline
from driver import Task, main


def mst(task: Task) -> np.ndarray:
    """As published by its authors."""
    return _run(task, MSTPipeline)


def aim(task: Task) -> np.ndarray:
    """As published, with the model size of AIM's authors."""
    return _run(task, AIMPipeline, max_model_size=80)


def privbayes(task: Task) -> np.ndarray:
    """Bayesian network of degree 2, its default."""
    return _run(task, PrivBayesPipeline)


def _run(task: Task, pipeline: type[MMPipeline], **settings: float) -> np.ndarray:
    columns = list(task.cells)
    pipe = pipeline(
        epsilon=task.epsilon, delta=task.delta, n_jobs=1, disable_processing=True, **settings
    )
    records = pd.DataFrame(task.train, columns=columns)
    pipe.fit(records, domain=dict(task.cells), random_state=task.seed)
    rows = max(1, round(float(pipe.gen.generator.model.total)))
    synthetic = pipe.generate(n_records=rows, random_state=task.seed)
    return synthetic[columns].to_numpy()


if __name__ == "__main__":
    main({"mst": mst, "aim": aim, "privbayes": privbayes}, ("dpmm", "opendp", "numpy"))
