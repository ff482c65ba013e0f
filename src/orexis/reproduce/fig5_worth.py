"""What decides whether C is tried after A: what A turned out to be worth, in numbers and as a table of the page."""

import math
from typing import Any

import numpy as np

from orexis.evaluation.printing import markdown_table
from orexis.reproduce.fig5_claims import A, C, Evidence, tried_both
from orexis.tasks.abc import RandomABC

WORTHS = ((-1.0, -0.5), (-0.5, 0.0), (0.0, 0.25), (0.25, 0.5), (0.5, 1.0))  # of A: the rows of the table


def worths_of_a(evidence: Evidence, name: str) -> dict[str, Any]:
    """Returns by the worth of A: what walks to A and C are paid after A, and how many lifetimes tried both."""
    drawn, after = evidence.draws.worth[:, A], evidence.draws.sums[("A",)]
    lived, tried = evidence.table.task_params["rewards"][:, A], tried_both(evidence.table.outcome)
    rows = []
    for low, high in WORTHS:
        here, there = (drawn >= low) & (drawn < high), (lived >= low) & (lived < high)
        rows.append(
            {
                "worth": [low, high],
                "paid_for_a": _mean(after[here, A]),
                "paid_for_c": _mean(after[here, C]),
                "tried_both": _mean(tried[there]),
            }
        )
    return {"reward": name, "switch": switch_point(drawn, after[:, C] - after[:, A]), "rows": rows}


def switch_point(worth: np.ndarray, ahead: np.ndarray) -> float:
    """Returns the worth of A below which C is paid more, from f[D] and f[D]: the one that is wrong in fewest draws."""
    order = np.argsort(worth)
    right = np.concatenate([[0], np.cumsum(np.where(ahead[order] > 0, 1, -1))])  # if the first k are said to be ahead
    k = int(right.argmax())
    edges = np.concatenate([worth[order][:1], worth[order], worth[order][-1:]])
    return float(0.5 * (edges[k] + edges[k + 1]))


def worth_a_try(episodes_left: int) -> float:
    """Returns the worth a of A below which one episode spent on C pays off within R more, where C is uniform in [0, h].

    The episode costs a − h/2, and then the better one is taken R times: R·E[max(C − a, 0)] = R (h − a)² / 2h. They
    are equal where h − a = h (√(1 + R) − 1) / R.
    """
    height = RandomABC().high[C]
    return height - height * (math.sqrt(1 + episodes_left) - 1) / episodes_left if episodes_left > 0 else height / 2


def worths_table(found: list[dict[str, Any]], num_episodes: int) -> list[str]:
    """Returns the lines of a table of what `worths_of_a` returned for each reward."""
    headings = ["A is worth"]
    for one in found:
        headings += [f"{one['reward']}: paid for A", "for C", "tried both"]
    rows = []
    for index, (low, high) in enumerate(WORTHS):
        cells = [f"{low:g} to {high:g}".replace("-", "−")]
        for one in found:
            row = one["rows"][index]
            cells += [_number(row["paid_for_a"]), _number(row["paid_for_c"]), _share(row["tried_both"])]
        rows.append(cells)
    switches = ", ".join(f"{one['switch']:.2f} ({one['reward']})" for one in found)
    return [
        "Episode 2 after A, over draws, by what A turned out to be worth; and the share of the lifetimes with such an "
        f"A that tried both A and C before they settled. C is paid more than A where A is worth less than {switches}. "
        f"An agent with {num_episodes - 2} episodes left after that one gains from trying C, by what the task's ranges "
        f"promise, as long as A is worth less than {worth_a_try(num_episodes - 2):.2f}.",
        "",
        *markdown_table(headings, rows),
    ]


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}".replace("-", "−")


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
