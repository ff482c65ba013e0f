"""The notebooks: kept without outputs, and every cell runs in a clean kernel."""

import ast
import base64
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
CACHE = Path(os.environ.get("OREXIS_TEST_CACHE") or Path.home() / ".cache" / "orexis-tests")
EXECUTE = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=900, kernel_name="python3").execute()
nbformat.write(book, sys.argv[2])
"""
PICTURES = {"your_own_task": 2, "what_has_it_captured": 3}
SAID = {
    "your_own_task": ("what is learned: a reward", "the best validation was", "extrinsic-ep"),
    "what_has_it_captured": ("The walk that is paid most: ", "an episode in the first five"),
}


def cells_of(path: Path, kind: str = "code") -> list[dict]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def test_there_are_two_notebooks():
    assert [path.stem for path in NOTEBOOKS] == sorted(PICTURES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_begins_with_its_title(path: Path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    assert set(book["metadata"]) == {"kernelspec", "language_info"}
    for cell in cells_of(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
        assert cell["metadata"] == {}
        ast.parse("".join(line for line in cell["source"] if not line.startswith("%")))
    assert "".join(book["cells"][0]["source"]).startswith("# ")
    assert len(cells_of(path, "markdown")) >= 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_document_that_a_notebook_points_to_exists(path: Path):
    text = "".join("".join(cell["source"]) for cell in cells_of(path, "markdown"))
    named = [word.strip("`.,;()") for word in text.split() if word.strip("`.,;()").startswith("docs/")]
    assert all((path.parent.parent / name).is_file() for name in named)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_in_a_clean_kernel(path: Path, tmp_path):
    for package in ("nbclient", "nbformat", "ipykernel"):
        if importlib.util.find_spec(package) is None:
            pytest.skip("the extra notebooks is not installed")
    folders = {"IPYTHONDIR": "ipython", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime"}
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "OREXIS_REWARD")},
        **{name: str(tmp_path / folder) for name, folder in folders.items()},
        "OREXIS_TINY": "1",
        "XDG_CACHE_HOME": str(CACHE / "notebooks"),
    }
    executed = tmp_path / "executed.ipynb"
    process = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(path), str(executed)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=1200,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    outputs = [output for cell in cells_of(executed) for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == PICTURES[path.stem]
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    said = json.dumps(outputs)
    for fragment in SAID[path.stem]:
        assert fragment in said
