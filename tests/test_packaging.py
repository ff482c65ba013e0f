"""What is installed: the lock agrees with pyproject.toml, the version is told once, and the wheel alone is enough."""

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import orexis
from tests.quick import QUICK_TO_COMPILE

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
EXTRAS = re.findall(r"--extra (\w+)", re.search(r"^LOCKED := (.*)$", MAKEFILE, re.MULTILINE)[1])


@dataclasses.dataclass(frozen=True)
class Pin:
    name: str
    version: Version
    marker: Marker | None
    hashes: list[str]
    asked_for_by: list[str]  # names, or `orexis (pyproject.toml)`

    def holds(self, python: str, **environment: str) -> bool:
        told = {"python_version": python, "python_full_version": f"{python}.0", **environment}
        return self.marker is None or self.marker.evaluate(told)


def read_pins(lock: str) -> list[Pin]:
    """Returns what a lock pins. Raises AssertionError for a line that is none of a pin's."""
    pins = []
    for block in re.split(r"\n(?=[^\s#])", "\n" + lock)[1:]:
        first, *rest = [line.removesuffix("\\").strip() for line in block.splitlines()]
        found = re.fullmatch(r"([\w.-]+)==([\w.+!-]+)(?: ; (.+))?", first)
        assert found, f"not a pin: {first}"
        hashes = [line.removeprefix("--hash=sha256:") for line in rest if line.startswith("--hash=sha256:")]
        said = [line for line in rest if not line.startswith("--hash=sha256:")]
        assert all(line.startswith("#") for line in said), f"{first} has more than hashes: {said}"
        by = [line for line in " ".join(said).replace("# via", "#").split("#") if line.strip()]
        marker = Marker(found[3]) if found[3] else None
        name = canonicalize_name(found[1])
        pins.append(Pin(name, Version(found[2]), marker, hashes, [line.strip() for line in by]))
    return pins


PINS = read_pins(LOCK.split("make lock\n")[1])


def wanted() -> list[Requirement]:
    """Returns what pyproject.toml asks for: at run time, for the locked extras and to build."""
    project = PROJECT["project"]
    extras = [line for name in EXTRAS for line in project["optional-dependencies"][name]]
    return [Requirement(line) for line in (*project["dependencies"], *extras, *PROJECT["build-system"]["requires"])]


def test_every_pin_has_hashes_and_the_lock_names_no_index():
    assert len(PINS) > 40
    for pin in PINS:
        assert pin.hashes, f"{pin.name} has no hash"
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pin.hashes)
        assert len(set(pin.hashes)) == len(pin.hashes)
    assert "://" not in LOCK
    assert not re.search(r"index-url|find-links|trusted-host| @ ", LOCK)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_lock_has_one_version_of_everything_that_pyproject_asks_for(python: str, platform: str):
    pins = [pin for pin in PINS if pin.holds(python, sys_platform=platform)]
    names = [pin.name for pin in pins]
    assert sorted(set(names)) == sorted(names), "two versions of one library"
    versions = {pin.name: pin.version for pin in pins}
    for requirement in wanted():
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in requirements.lock: make lock"
        assert requirement.specifier.contains(version), f"{requirement}, but {version} is locked: make lock"


def test_nothing_is_locked_that_nobody_asks_for():
    names = {pin.name for pin in PINS}
    ours = {pin.name for pin in PINS if any(by.startswith("orexis (pyproject.toml") for by in pin.asked_for_by)}
    assert ours == {canonicalize_name(requirement.name) for requirement in wanted()}
    for pin in PINS:
        others = [by for by in pin.asked_for_by if not by.startswith("orexis (pyproject.toml")]
        assert pin.asked_for_by, f"nobody asks for {pin.name}"
        assert {canonicalize_name(by) for by in others} <= names


def test_every_extra_is_locked_or_said_not_to_be():
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    not_covered = security[security.index("Not covered:") :]
    extras = set(PROJECT["project"]["optional-dependencies"])
    assert set(EXTRAS) <= extras
    assert extras - set(EXTRAS) == {name for name in extras if f"`{name}`" in not_covered}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lock: "--find-links wheels\n" + lock, "not a pin"),
        (lambda lock: re.sub(r"^absl-py==\S+", "absl-py>=2", lock, flags=re.MULTILINE), "not a pin"),
        (lambda lock: lock.replace("--hash=sha256:", "--hash=md5:", 1), "more than hashes"),
    ],
)
def test_a_lock_of_another_kind_is_noticed(damage, said: str):
    with pytest.raises(AssertionError, match=said):
        read_pins(damage(LOCK.split("make lock\n")[1]))


def test_python_3_11_has_the_last_jax_that_it_can_and_newer_ones_a_newer():
    locked = {python: [pin.version for pin in PINS if pin.name == "jax" and pin.holds(python)] for python in PYTHONS}
    assert PYTHONS == ["3.11", "3.12", "3.13"]
    assert locked["3.11"] == [Version("0.10.2")]
    assert locked["3.12"] == locked["3.13"]
    assert locked["3.13"] > locked["3.11"]


def test_the_lock_is_installed_with_its_hashes_and_nothing_else_is_downloaded():
    installs = [line for line in MAKEFILE.splitlines() if re.match(r"\t.*(\$\(PIP\)|pip.* install)", line)]
    assert len(installs) == 2
    assert all(line.startswith("\t$(PIP)") for line in installs)
    assert "--require-hashes" in installs[0]
    assert "-r requirements.lock" in installs[0]
    assert all(option in installs[1] for option in ("--no-index", "--no-deps", "--no-build-isolation"))


def test_the_badges_say_what_is_supported():
    jax = sorted({pin.version for pin in PINS if pin.name == "jax"})
    license = PROJECT["project"]["license"]
    texts = {
        "python": ("python", f"{PYTHONS[0]} to {PYTHONS[-1]}", f"Python {PYTHONS[0]} to {PYTHONS[-1]}"),
        "jax": ("jax", f"{jax[0]} to {jax[-1]}", f"JAX {jax[0]} to {jax[-1]}"),
        "license": ("license", license, license),
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, (left, right, read_aloud) in texts.items():
        drawn = (ROOT / "docs" / "images" / f"badge_{name}.svg").read_text(encoding="utf-8")
        assert re.findall(r">([^<>\n]+)</t", drawn) == [f"{left}: {right}", left, right]
        assert f"![{read_aloud}](docs/images/badge_{name}.svg)" in readme


def test_the_version_is_told_once():
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/orexis/__init__.py"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [orexis.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {orexis.__version__} (" in changes


def needed(requirements: list[str]) -> set[str]:
    """Returns the names of everything that a distribution with these requirements needs, as installed here."""
    found: set[str] = set()
    queue = [Requirement(line) for line in requirements]
    while queue:
        requirement = queue.pop()
        if canonicalize_name(requirement.name) in found or not _holds(requirement):
            continue
        found.add(canonicalize_name(requirement.name))
        queue += [Requirement(line) for line in metadata.requires(requirement.name) or []]
    return found


def _holds(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def put_together(folder: Path, wheel: Path) -> Path:
    """Makes an environment of the wheel and of what it says that it needs, taken from here; returns its `bin`."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    line = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*line, str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    installed = metadata.Distribution.at(next(packages.glob("orexis-*.dist-info")))
    for name in needed(installed.requires or []):
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (packages / top).exists() or (packages / top).symlink_to(distribution.locate_file(top))
    return folder / "bin"


WITHOUT_JAX = """
import sys
from importlib import metadata, resources
import numpy as np
import orexis
assert "site-packages" in orexis.__file__, orexis.__file__
assert orexis.__version__ == metadata.version("orexis")
assert resources.files("orexis").joinpath("py.typed").is_file()
reward = orexis.load_reward("random-abc")
reward.begin(num_envs=1)
paid = reward.step(np.zeros((1, 5, 5, 4)), np.array([0]), np.array([0.0]), np.array([False]))
assert np.isfinite(paid).all()
assert "jax" not in sys.modules
try:
    import pytest
except ImportError:
    print("alone")
"""


@pytest.mark.slow
def test_the_wheel_is_enough(tmp_path):
    dist, away = tmp_path / "dist", tmp_path / "elsewhere"
    away.mkdir()
    # The wheel is built of the source archive: both are whole.
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(ROOT)], check=True)
    (wheel,), (archive,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert wheel.name == f"orexis-{orexis.__version__}-py3-none-any.whl"
    shipped = [file.stat().st_size for file in (ROOT / "src/orexis/zoo").glob("*/*.safetensors")]
    assert max(shipped) < 1e6
    assert archive.stat().st_size - sum(shipped) < 1.5e6, "beside what is shipped: no results, no run folders"
    place = put_together(tmp_path / "environment", wheel)
    env = {"PATH": os.defpath, "HOME": str(away), "XLA_FLAGS": " ".join(QUICK_TO_COMPILE)}

    def run(*line: str) -> str:
        done = subprocess.run([place / line[0], *line[1:]], cwd=away, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("python", "-c", WITHOUT_JAX) == "alone\n"
    assert run("orexis", "--version") == f"orexis {orexis.__version__}\n"
    assert "nonstationary-abc" in run("orexis", "zoo", "list")
    assert "random-abc" in run("python", "-m", "orexis", "zoo", "show", "random-abc")
    run("orexis", "train", "bandit", "--updates", "2", "--lifetimes", "4", "--run-dir", "run", "--devices", "1")
    assert (away / "run" / "reward" / "reward.safetensors").is_file()
    run("orexis", "doctor", "run")
