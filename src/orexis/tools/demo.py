"""`orexis demo`: learn a reward on Random ABC, let fresh agents live by it, and report what came of it."""

import io
import shlex
import time
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from orexis.config import RunConfig
from orexis.errors import OK, UsageError, check_numbers
from orexis.evaluation.evaluate import evaluate
from orexis.evaluation.printing import print_summary
from orexis.evaluation.scores import as_json, write_csv
from orexis.evaluation.walks import walk_table
from orexis.figures.curves import learning_curves, training_curves
from orexis.figures.endings import count_endings, endings_figure
from orexis.figures.palette import paper_style
from orexis.figures.report import PIXELS_PER_INCH
from orexis.figures.walks import walks_figure
from orexis.interop.numpy_reward import load_reward
from orexis.presets import preset
from orexis.storage.files import write_json
from orexis.tools.demo_report import LIFETIME_PAGE, OPTIMUM, Results, compose_report, verdict
from orexis.tools.view import view
from orexis.training.columns import HEADINGS, read_metrics
from orexis.training.train import train

TASK = "random-abc"
PANELS = ("episode_return", "policy_entropy", "lifetime_value_rmse", "theta_norm_p99")
"""The columns of metrics.csv that are drawn."""


def demo(out: Path, updates: int, seed: int, lifetimes: int = 256) -> int:
    """Trains, evaluates, draws and reports into the folder `out`; returns the exit code.

    A demo that was interrupted goes on where it was. Raises CommandError for what can be said in one sentence.
    """
    started = time.monotonic()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    check_numbers(lifetimes, seed)
    code = _train(out, updates, seed)
    if code != OK:
        console.print("The same command again goes on from here.")
        return code
    reward = out / "run" / "reward"
    tables = evaluate([str(reward), "extrinsic-ep", "near-optimal"], TASK, lifetimes, seed, console.print)
    learned = load_reward(reward)
    results = Results(
        tables=tables,
        endings=[row for table in tables[:2] for row in count_endings(table)],
        walks=walk_table(learned),
        metrics=read_metrics(out / "run" / "metrics.csv"),
        training=learned.artefact.record["training"],
    )
    pictures = {name: _png(figure) for name, figure in draw(results).items()}
    for name, png in pictures.items():
        (out / f"{name}.png").write_bytes(png)
    write_json(out / "evaluation.json", as_json(tables))
    write_csv(out / "evaluation.csv", tables)
    view([str(out / "run")], out / LIFETIME_PAGE, TASK, seed, log=lambda message: None)
    command = ["orexis", "demo", "--out", str(out), "--updates", str(updates), "--seed", str(seed)]
    page = compose_report(results, pictures, shlex.join(command), time.monotonic() - started)
    (out / "report.html").write_text(page, encoding="utf-8")
    print_summary(tables)
    console.print(verdict(*tables[:2]))
    console.print(f"\nEverything is in {out}; open {out / 'report.html'}")
    return OK


def draw(results: Results) -> dict[str, Figure]:
    """Returns the figures of the report by the names of their files."""
    return {
        "learning_curves": learning_curves(results.tables, OPTIMUM, "Random ABC: what fresh agents collect"),
        "endings": endings_figure(results.endings),
        "walks": walks_figure(results.walks),
        "training": training_curves({TASK: results.metrics}, {name: HEADINGS[name] for name in PANELS}),
    }


def _train(out: Path, updates: int, seed: int) -> int:
    """Trains in `out`/run, going on with what is there; returns the exit code."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    try:
        config = RunConfig(task=TASK, seed=seed, updates=updates, meta=preset(TASK))
    except ValueError as error:
        raise UsageError(f"--{error}") from error
    try:
        return train(out / "run", config, resume=True)
    except UsageError as error:
        raise UsageError(f"{error}; for another demo choose another --out, or remove {out}") from error


def _png(figure: Figure) -> bytes:
    """Returns a figure as the bytes of a PNG, the same for the same figure."""
    buffer = io.BytesIO()
    with paper_style():
        figure.savefig(buffer, format="png", dpi=PIXELS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()
