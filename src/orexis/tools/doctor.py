"""`orexis doctor`: reads every byte of a run, a reward or a policy, says what is wrong and what a resume would do.

Changes nothing, so that it can look at a run that is training.
"""

import csv
import dataclasses
import io
import os
from pathlib import Path
from typing import Any, Literal

from orexis.config import RunConfig
from orexis.errors import BAD_DATA, OK, BadDataError, UsageError, printable
from orexis.evaluation.sources import trained_agent
from orexis.storage import lock, manifest
from orexis.storage.artefact import kind_of, read_artefact
from orexis.storage.card import write_card
from orexis.storage.reading import DamagedError
from orexis.storage.stages import updates_in_words
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
from orexis.training.resume import Outlook, accept_manifest, foresee
from orexis.training.writers import find_stranger


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
        said = [f"{finding.verdict:<5}{finding.text}" for finding in self.findings] + [self.outlook]
        return [printable(line) for line in said]


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
        write_card(artefact.record)
    except (DamagedError, FileNotFoundError, BadDataError) as error:
        return Finding("bad", str(error))
    updates = updates_in_words(artefact.record)
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
    outlook = foresee(folder)
    good = outlook.survey.manifest
    config = _examine_config(folder, good, findings)
    _examine_checkpoints(folder / CHECKPOINTS, findings)
    made = kind_of(config.meta.learn) if config else next((k for k in KINDS if (folder / k).exists()), KINDS[0])
    if (folder / made).exists():
        findings.append(examine_artefact(folder / made))
    elif good:
        findings.append(Finding("note", f"{made}/ is missing; a resume writes it again"))
    if (folder / BEST).exists():
        findings.append(examine_artefact(folder / BEST))
    elif (good.get("validation") or {}).get("update") is not None:
        findings.append(Finding("bad", f"{BEST}/ is missing; a resume takes its next validation for the best"))
    if (folder / LEARNER).exists():
        findings.append(examine_learner(folder / LEARNER))
    elif good:
        findings.append(Finding("note", f"{LEARNER}/ is missing; a resume writes it again"))
    if good:
        findings += _examine_metrics(folder / METRICS, good["metrics_bytes"], good.get("metrics_sha256"))
    findings += [
        Finding("note", f"{path.name}: a draft that a crash left; a resume removes it") for path in _drafts(folder)
    ]
    if lock.is_held(folder):
        findings.append(Finding("note", f"process {lock.owner(folder) or 'unknown'} is training in it"))
        return Diagnosis(findings, "a resume would be refused now: the folder is in use")
    if outlook.refusal is not None:
        if all(finding.verdict != "bad" for finding in findings):
            findings.append(Finding("bad", str(outlook.refusal)))
        return Diagnosis(findings, f"a resume would be refused (exit {outlook.refusal.code}): {outlook.refusal}")
    return Diagnosis(findings, _say(outlook, config))


def _examine_config(folder: Path, good: dict[str, Any], findings: list[Finding]) -> RunConfig | None:
    """Adds a finding about config.json; returns the config that a resume by the same command has."""
    trained_with = accept_manifest(good) if good else None
    if not os.path.lexists(folder / CONFIG):
        findings.append(Finding("bad", f"{CONFIG} is missing; a resume writes it again, as its command line says"))
        return trained_with
    try:
        config = read_config(folder)
        refuse_another(folder, trained_with or config, config)
    except BadDataError as error:
        findings.append(Finding("bad", str(error)))
        return trained_with
    except UsageError as error:
        findings.append(Finding("bad", f"{CONFIG} is not what was trained: {error}"))
        return trained_with
    findings.append(Finding("good", f"{CONFIG}: {config.task}, {config.updates} updates in all"))
    return config


def _say(outlook: Outlook, config: RunConfig | None) -> str:
    """Returns what a resume would do, in words."""
    moved = [place.name for place in outlook.survey.bad]
    aside = f"move {' and '.join(moved)} aside and " if moved else ""
    if outlook.survey.good is None:
        return "a resume would start from the beginning: nothing was saved yet"
    if config is not None and outlook.step >= config.updates:
        return f"a resume would {aside}find all {outlook.step} updates done"
    return f"a resume would {aside}go on from update {outlook.step}" + (f" of {config.updates}" if config else "")


def _examine_checkpoints(folder: Path, findings: list[Finding]) -> None:
    """Adds a finding for each checkpoint, also for those that a resume does not look at any more."""
    for step in reversed(manifest.steps(folder)):
        place = manifest.place_of(folder, step)
        try:
            manifest.judge(place, accept_manifest)
        except (BadDataError, DamagedError) as error:
            if os.path.lexists(place):  # else the run pruned it meanwhile
                findings.append(Finding("bad", f"{CHECKPOINTS}/{place.name}: {error}"))
        else:
            findings.append(Finding("good", f"{CHECKPOINTS}/{place.name}: every byte as it was written"))
    earlier = manifest.moved_aside(folder)
    findings += [Finding("note", f"{CHECKPOINTS}/{path.name}: found bad before and moved aside") for path in earlier]
    findings += [
        Finding("note", f"{CHECKPOINTS}/{path.name}: a draft; a resume removes it") for path in folder.glob(".tmp-*")
    ]


def _examine_metrics(path: Path, promised: int, digest: str | None) -> list[Finding]:
    """Returns what is to be said about metrics.csv, of which a checkpoint has seen the first `promised` bytes."""
    if not promised:
        return []
    data = path.read_bytes()[:promised] if path.is_file() else b""
    stranger = find_stranger(data, promised, digest)
    if stranger is not None:
        return [Finding("bad", f"{METRICS} {stranger}; a resume keeps it under another name and begins a new one")]
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
