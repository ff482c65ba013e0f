"""What an update costs as its sizes grow."""

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, ScalarFormatter

from orexis.colors import GREY
from orexis.figures.curves import COLUMN_WIDTH
from orexis.figures.palette import LEARNED, paper_style

HEADINGS = {
    "lifetimes": "lifetimes L",
    "T": "rollout length T",
    "N": "window N",
    "grid": "grid, rows",
}


def scaling_figure(axes_points: dict[str, tuple[list[int], list[float]]]) -> Figure:
    """Returns a panel for each axis, milliseconds of an update over its values, both logarithmic.

    The thin line is proportional growth from the first point (with the square, for the grid).
    """
    with paper_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 1.8), layout=ConstrainedLayoutEngine(w_pad=0.04, h_pad=0.03))
        panels = figure.subplots(1, len(axes_points), squeeze=False)[0]
        for panel, (axis, (values, times)) in zip(panels, axes_points.items(), strict=True):
            power = 2 if axis == "grid" else 1
            panel.plot(values, [times[0] * (v / values[0]) ** power for v in values], color=GREY, linewidth=0.8)
            panel.plot(values, times, color=LEARNED.color, marker="o", markersize=3)
            panel.set(xscale="log", yscale="log", xlabel=HEADINGS.get(axis, axis))
            panel.set_xticks(values, [str(v) for v in values])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            panel.yaxis.set_major_formatter(ScalarFormatter())
            panel.yaxis.set_minor_formatter(NullFormatter())
        panels[0].set_ylabel("one update, ms")
    return figure
