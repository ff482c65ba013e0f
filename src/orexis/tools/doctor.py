"""`orexis doctor`: reads every byte of a run, a reward or a policy, says what is wrong and what a resume would do.

Changes nothing, so that it can look at a run that is training.
"""

import csv
import dataclasses
import io
from pathlib import Path
from typing import Literal

from orexis.config import RunConfig
from orexis.config_json import from_json
from orexis.errors import BAD_DATA, OK, BadDataError, UsageError
from orexis.evaluation.sources import trained_agent
from orexis.storage import checkpoint, lock
from orexis.storage.artefact import kind_of, read_artefact
from orexis.storage.reading import DamagedError
from orexis.training.folder import (
    BEST,
    CHECKPOINTS,
    CONFIG,
    KINDS,
    LEARNER,
    METRICS,
    holds_run,
    read_config,
    refuse_another,
)
from orexis.training.learners import RECORD, read_learner
from orexis.training.progress import Progress


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    verdict: Literal["good", "note", "bad"]  # a note is nothing to worry about
    text: str


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """All that was found, and what comes next."""

    findings: list[Finding]
    outlook: str

    @property
    def code(self) -> int:
        """The exit code: 0 if all is well, 3 if anything is bad."""
        return BAD_DATA if any(finding.verdict == "bad" for finding in self.findings) else OK

    def lines(self) -> list[str]:
        """Returns the diagnosis as it is printed."""
        return [f"{finding.verdict:<5}{finding.text}" for finding in self.findings] + [self.outlook]


def examine(folder: Path) -> Diagnosis:
    """Returns what is to be said about the folder of a run, a reward, a policy or a learner.

    Raises UsageError if it is none.
    """
    if holds_run(folder):
        return examine_run(folder)
    if any((folder / f"{kind}.{end}").exists() for kind in KINDS for end in ("json", "safetensors")):
        finding = examine_artefact(folder)
        usable = "it can be used" if finding.verdict == "good" else "it cannot be used: train or fetch it again"
        return Diagnosis([finding], usable)
    if (folder / RECORD).exists():
        finding = examine_learner(folder)
        usable = "a run can begin with it" if finding.verdict == "good" else "it cannot be used: fetch it again"
        return Diagnosis([finding], usable)
    raise UsageError(f"{folder} is neither a run folder nor a reward or policy folder")


def examine_artefact(folder: Path) -> Finding:
    """Returns what is to be said about the artefact of a reward or a policy."""
    try:
        artefact = read_artefact(folder)
        trained_agent(artefact, str(folder))
    except (DamagedError, FileNotFoundError, BadDataError) as error:
        return Finding("bad", str(error))
    training = artefact.record.get("training")
    updates = training.get("updates", "?") if isinstance(training, dict) else "?"
    return Finding(
        "good", f"{folder}: a {artefact.kind} for {artefact.task}, {updates} updates, every byte as it was written"
    )


def examine_learner(folder: Path) -> Finding:
    """Returns what is to be said about a learner."""
    try:
        arrays, record = read_learner(folder)
    except DamagedError as error:
        return Finding("bad", str(error))
    return Finding("good", f"{folder}: a learner for {record.get('task')}, {len(arrays)} arrays as they were written")


def examine_run(folder: Path) -> Diagnosis:
    """Returns what is to be said about a run folder."""
    findings: list[Finding] = []
    refusal = ""
    config: RunConfig | None = None
    try:
        config = read_config(folder)
        findings.append(Finding("good", f"{CONFIG}: {config.task}, {config.updates} updates in all"))
    except BadDataError as error:
        findings.append(Finding("bad", str(error)))
        refusal = "config.json cannot be read"
    good, moved, refused = _examine_checkpoints(folder / CHECKPOINTS, findings)
    if config is not None and good is not None:
        try:
            refuse_another(folder, from_json(RunConfig, good["config"]), config)
        except UsageError as error:
            findings.append(Finding("bad", f"{CONFIG} is not what was trained: {error}"))
    made = kind_of(config.meta.learn) if config else next((k for k in KINDS if (folder / k).exists()), KINDS[0])
    if (folder / made).exists():
        findings.append(examine_artefact(folder / made))
    elif good:
        findings.append(Finding("note", f"{made}/ is missing; a resume writes it again"))
    if (folder / BEST).exists():
        findings.append(examine_artefact(folder / BEST))
    elif good and (good.get("validation") or {}).get("update") is not None:
        findings.append(Finding("bad", f"{BEST}/ is missing; a resume takes its next validation for the best"))
    if (folder / LEARNER).exists():
        findings.append(examine_learner(folder / LEARNER))
    elif good:
        findings.append(Finding("note", f"{LEARNER}/ is missing; a resume writes it again"))
    findings += _examine_metrics(folder / METRICS, good["metrics_bytes"] if good else 0)
    findings += [
        Finding("note", f"{path.name}: a draft that a crash left; a resume removes it") for path in _drafts(folder)
    ]
    if lock.is_held(folder):
        findings.append(Finding("note", f"process {lock.owner(folder) or 'unknown'} is training in it"))
        return Diagnosis(findings, "a resume would be refused now: the folder is in use")
    refusal = refusal or refused
    if refusal:
        return Diagnosis(findings, f"a resume would be refused: {refusal}")
    return Diagnosis(findings, _outlook(good, moved, config))


def _outlook(good: dict | None, moved: list[str], config: RunConfig | None) -> str:
    aside = f"move {' and '.join(moved)} aside and " if moved else ""
    if good is None:
        return "a resume would start from the beginning: nothing was saved yet"
    step = good["step"]
    if config is not None and step >= config.updates:
        return f"a resume would {aside}find all {step} updates done"
    return f"a resume would {aside}go on from update {step}" + (f" of {config.updates}" if config else "")


def _examine_checkpoints(folder: Path, findings: list[Finding]) -> tuple[dict | None, list[str], str]:
    """Adds a finding for each checkpoint; returns the newest good manifest, what a resume would move aside on the
    way to it, and why it would give up, if it would."""
    good: dict | None = None
    moved: list[str] = []
    refused = ""
    for step in reversed(checkpoint.steps(folder)):
        place = checkpoint.place_of(folder, step)
        try:
            manifest = checkpoint.read_manifest(place)
            checkpoint.verify(place, manifest)
            trained_with = from_json(RunConfig, manifest.get("config"), "config of the manifest")
            Progress.from_manifest(manifest, trained_with.meta.lifetimes)
        except (BadDataError, ValueError) as error:
            if not place.exists():
                continue  # the run pruned it meanwhile
            findings.append(Finding("bad", f"{CHECKPOINTS}/{place.name}: {error}"))
            if good is None and isinstance(error, DamagedError):
                moved.append(place.name)
            elif good is None:
                refused = refused or str(error)
            continue
        findings.append(Finding("good", f"{CHECKPOINTS}/{place.name}: every byte as it was written"))
        good = good or manifest
    earlier = checkpoint.moved_aside(folder)
    findings += [Finding("note", f"{CHECKPOINTS}/{path.name}: found bad before and moved aside") for path in earlier]
    findings += [
        Finding("note", f"{CHECKPOINTS}/{path.name}: a draft; a resume removes it") for path in folder.glob(".tmp-*")
    ]
    if good is None and not refused and (moved or earlier):
        if not moved:
            findings.append(Finding("bad", f"{CHECKPOINTS}: none is left but those that were moved aside"))
        refused = "checkpoints are there but none is good (exit 3)"
    return good, moved, refused


def _examine_metrics(path: Path, promised: int) -> list[Finding]:
    """Returns what is to be said about metrics.csv, of which a checkpoint has seen the first `promised` bytes."""
    if not promised:
        return []
    data = path.read_bytes()[:promised] if path.is_file() else b""
    if len(data) < promised:
        return [Finding("bad", f"{METRICS} is missing or was cut to {len(data)} of {promised} bytes: rows are lost")]
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode()), strict=True, restkey="", restval="none"))
        updates = [int(row["update"]) for row in rows]
        for cell in (cell for row in rows for cell in row.values()):
            float(cell or "nan")
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        return [Finding("bad", f"{METRICS} has a row that is none: {error}")]
    if updates != sorted(set(updates)) or not data.endswith(b"\n"):
        return [Finding("bad", f"{METRICS} has rows that are torn or out of order")]
    return [Finding("good", f"{METRICS}: {len(rows)} rows up to the newest checkpoint")]


def _drafts(folder: Path) -> list[Path]:
    return sorted([*folder.glob(".*.tmp-*"), *folder.glob(".*.old-*")])
