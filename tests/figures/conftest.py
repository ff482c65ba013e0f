"""Small tables, made by hand, for figures to draw."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from orexis.evaluation.table import SourceTable


def make_table(source: str, num_lifetimes: int = 6, num_episodes: int = 50, seed: int = 0) -> SourceTable:
    """Returns a table of random numbers that are the same for the same arguments."""
    rng = np.random.default_rng(seed)
    shape = (num_lifetimes, num_episodes)
    return SourceTable(
        source=source,
        task="random-abc",
        seed=0,
        extrinsic=rng.normal(size=shape),
        intrinsic=rng.normal(size=shape),
        length=np.full(shape, 4.0),
        entropy=np.ones(shape),
        outcome=rng.integers(-1, 3, size=shape),
        outcomes=("A", "B", "C"),
        task_params={"rewards": rng.uniform(-1, 1, size=(num_lifetimes, 3)).astype(np.float32)},
    )


def assert_nothing_is_cut(figure: Figure) -> None:
    """Asserts that all that is drawn, ticks and labels included, lies inside the figure."""
    drawn = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())  # in inches
    width, height = figure.get_size_inches()
    assert 0 <= drawn.x0 < drawn.x1 <= width
    assert 0 <= drawn.y0 < drawn.y1 <= height


@pytest.fixture
def tables() -> list[SourceTable]:
    """What the demo compares: a learned reward and two sources with names."""
    return [make_table("demo/run/reward", seed=1), make_table("extrinsic-ep", seed=2), make_table("near-optimal")]
