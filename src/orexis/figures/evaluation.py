"""The paper's third figure: a panel for each task, the curves of all sources, their bands and the dashed optimum."""

import dataclasses
from collections.abc import Sequence

from matplotlib.figure import Figure

from orexis.evaluation.table import SourceTable
from orexis.figures.curves import COLUMN_WIDTH, draw_curves, label_ends, width_of
from orexis.figures.palette import paper_style

PANEL_HEIGHT = 2.2  # inches, all that belongs to a panel
AXES_HEIGHT = 1.5  # of them, the curves
LEFT = 0.54  # inches beside the curves, for the numbers


@dataclasses.dataclass(frozen=True)
class Panel:
    """One task of the figure."""

    title: str
    tables: tuple[SourceTable, ...]
    optimum: float | None = None
    note: str = ""  # what is missing or shortened, said under the title


def evaluation_figure(panels: Sequence[Panel]) -> Figure:
    """Returns the panels in two columns, as wide as a page; one panel alone is as wide as a column."""
    if not panels:
        raise ValueError("no panels to draw")
    num_columns = min(2, len(panels))
    num_rows = -(-len(panels) // num_columns)
    width, height = num_columns * COLUMN_WIDTH, num_rows * PANEL_HEIGHT
    with paper_style():
        figure = Figure(figsize=(width, height))
        for index, panel in enumerate(panels):
            row, column = divmod(index, num_columns)
            left, bottom = column * COLUMN_WIDTH, height - (row + 1) * PANEL_HEIGHT
            axes = figure.add_axes((0.0, 0.0, 0.1, 0.1))
            ends = draw_curves(axes, panel.tables, panel.optimum)
            across = COLUMN_WIDTH - LEFT - (width_of(ends) + 10) / 72
            place = (left + LEFT, bottom + 0.36, across, AXES_HEIGHT)
            axes.set_position((place[0] / width, place[1] / height, place[2] / width, place[3] / height))
            label_ends(axes, ends, axes_points=AXES_HEIGHT * 72)
            top = (bottom + PANEL_HEIGHT - 0.05) / height
            figure.text((left + 0.06) / width, top, panel.title, va="top", fontweight="bold", fontsize=8)
            if panel.note:
                figure.text(
                    (left + 0.06) / width, top - 0.145 / height, panel.note, va="top", fontsize=6.5, color="#6A6A6A"
                )
    return figure
