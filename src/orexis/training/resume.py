"""How a resume goes on: one function foresees it, the resume does it and the doctor says it."""

import dataclasses
from pathlib import Path
from typing import Any

from orexis.config import RunConfig
from orexis.config_json import from_json
from orexis.errors import BadDataError, CommandError
from orexis.storage.manifest import Survey, survey
from orexis.training.folder import (
    CHECKPOINTS,
    CONFIG,
    check_use,
    read_config,
    refuse_another,
    refuse_lost,
    refuse_obstacles,
)
from orexis.training.progress import Progress


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What a resume makes of a run folder, as far as files decide it."""

    survey: Survey  # of its checkpoints
    refusal: CommandError | None  # why it does not go on

    @property
    def step(self) -> int:
        """The update that it goes on from; 0: it starts from the beginning."""
        return self.survey.manifest.get("step", 0)


def foresee(run_dir: Path, config: RunConfig | None = None, limit: int | None = None) -> Outlook:
    """Returns what a resume with `config` does: the resume asks, and does it; the doctor asks, and says it.

    config: by default the one that the checkpoint to go on from was trained with, or else that of the folder.
    limit: bytes that a state can have at most.
    """
    found = survey(run_dir / CHECKPOINTS, accept_manifest, limit)
    try:
        refuse_obstacles(run_dir)
        trained_with = accept_manifest(found.manifest) if found.good else None
        if config is None:
            config = trained_with or (read_config(run_dir) if (run_dir / CONFIG).is_file() else None)
        if config is not None:
            check_use(run_dir, config, resume=True)
        if found.refusal is not None:
            raise found.refusal
        if trained_with is None:
            refuse_lost(run_dir)
        elif config is not None:
            refuse_another(run_dir, trained_with, config)
    except CommandError as error:
        return Outlook(found, error)
    return Outlook(found, None)


def choose(run_dir: Path, config: RunConfig, limit: int) -> Survey:
    """Returns which checkpoint a resume goes on from, by `foresee`. Raises CommandError where it must not go on."""
    outlook = foresee(run_dir, config, limit)
    if outlook.refusal is not None and outlook.survey.refusal is None:
        raise outlook.refusal
    return outlook.survey


def accept_manifest(manifest: dict[str, Any]) -> RunConfig:
    """Returns the config that a checkpoint was trained with. Raises BadDataError if a run cannot go on from it."""
    try:
        trained_with = from_json(RunConfig, manifest.get("config"), "config of the manifest")
    except ValueError as error:
        raise BadDataError(f"the manifest of step {manifest['step']} cannot be used: {error}") from error
    Progress.from_manifest(manifest, trained_with.meta.lifetimes)
    return trained_with
