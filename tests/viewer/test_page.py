"""The page as a file: complete, allowed to run itself and nothing else, and its script is one that a linter passes."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from orexis.viewer.curves import training_data
from orexis.viewer.page import build_page, island, read_script
from tests.viewer.domains import record

ROOT = Path(__file__).parent.parent.parent
HOSTILE = "</script><script>alert(1)</script><!-- & \u2028 {script} {data}"
RULES = {
    rule: "error"
    for rule in (
        "no-undef",
        "no-unused-vars",
        "no-redeclare",
        "eqeqeq",
        "no-var",
        "prefer-const",
        "no-eval",
        "no-shadow",
    )
}


def the_page() -> str:
    return build_page("A title", "below it", record("random-abc"), training_data([]))


def between(page: str, begin: str, end: str) -> str:
    return page.split(begin)[1].split(end)[0]


def test_script_and_style_are_those_that_the_policy_names():
    page = the_page()
    policy = between(page, 'http-equiv="Content-Security-Policy" content="', '"')
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for name, text in {
        "script-src": page.rsplit("<script>", 1)[1].split("</script>")[0],
        "style-src": between(page, "<style>", "</style>"),
    }.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy


def test_data_come_back_from_the_island():
    page = the_page()
    data = json.loads(between(page, 'id="data">', "</script>"))
    assert data["lifetimes"] == json.loads(json.dumps(record("random-abc")))
    assert data["title"] == "A title"


def test_hostile_text_stays_in_the_island():
    page = build_page(HOSTILE, HOSTILE, None, training_data([]))
    assert json.loads(between(page, 'id="data">', "</script>"))["title"] == HOSTILE
    assert page.count("<script") == 2
    assert "alert(1)</script>" not in page
    assert not set("<>&") & set(island({"<": [HOSTILE, "<&>"]}))


def test_nothing_is_named_that_lies_elsewhere():
    page = the_page()
    assert re.findall(r"https?://[\w./]*", page) == ["http://www.w3.org/2000/svg"]  # a name, nothing is fetched from it
    assert re.findall(r'(?:src|href)="[^"]*"', page) == ['href="data:,"']


def test_not_a_number_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        build_page("a", "b", {"x": float("nan")}, training_data([]))


def test_text_is_set_as_text_alone():
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|DOMParser", read_script()) == []


@pytest.fixture(scope="module")
def script_file(tmp_path_factory) -> Path:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    path = tmp_path_factory.mktemp("script") / "page.js"
    path.write_text(read_script(), encoding="utf-8")
    return path


def test_the_script_is_javascript(script_file):
    subprocess.run(["node", "--check", script_file], check=True, timeout=60)


@pytest.mark.slow
def test_a_linter_passes_the_script(script_file):
    known = ["npx", "--yes", "eslint@9.39.1"]
    if (
        shutil.which("npx") is None
        or subprocess.run([*known, "--version"], capture_output=True, timeout=300).returncode
    ):
        pytest.skip("eslint is not there and cannot be fetched")
    config = script_file.with_name("eslint.config.mjs")
    browser = ["document", "window", "getComputedStyle", "requestAnimationFrame", "performance", "globalThis", "Intl"]
    settings = {"sourceType": "script", "globals": dict.fromkeys(browser, "readonly")}
    config.write_text(f"export default [{{languageOptions: {json.dumps(settings)}, rules: {json.dumps(RULES)}}}];\n")
    found = subprocess.run(
        [*known, "--config", config, script_file.name],
        cwd=script_file.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_page_in_the_documents_is_one_of_this_version():
    page = (ROOT / "docs" / "lifetime.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 2_000_000
    for begin, end in (("<style>", "</style>"), ("\n<script>", "</script>")):
        assert between(page, begin, end) == between(the_page(), begin, end), "write it again: docs/reference/view.md"
