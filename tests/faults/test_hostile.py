"""FAULTS 12: rewards, policies and checkpoints made to do harm. No code runs, memory and time are bounded, exit 3."""

from pathlib import Path

import pytest

from orexis.cli import main
from orexis.errors import BAD_DATA, USAGE, BadDataError
from orexis.storage import checkpoint
from tests.faults import children
from tests.faults.attacks import PROOF, write_attacks, write_checkpoint_attacks


@pytest.fixture(scope="module", params=["reward", "rl2", "maml"])
def attacks(request, tmp_path_factory) -> list[Path]:
    return write_attacks(tmp_path_factory.mktemp("attacks"), request.param)


@pytest.fixture(scope="module")
def checkpoint_attacks(tmp_path_factory) -> list[Path]:
    run_dir = tmp_path_factory.mktemp("good")
    for step in (1, 2):
        children.save_once(run_dir, step)
    return write_checkpoint_attacks(run_dir / "checkpoints", tmp_path_factory.mktemp("attacks"))


def test_there_are_attacks(attacks, checkpoint_attacks):
    assert len(attacks) == len(checkpoint_attacks) > 50


def test_every_reward_and_policy_is_refused_with_little_memory_and_time(attacks, record_property):
    record_property("trials", len(attacks))
    # A quarter of a gigabyte more than the process has, and ten seconds of computing, for all of them together.
    assert children.run(children.refuse_rewards, attacks) == 0
    assert not (attacks[0].parent / PROOF).exists()


def test_every_checkpoint_is_refused_with_little_memory_and_time(checkpoint_attacks, record_property):
    record_property("trials", len(checkpoint_attacks))
    assert children.run(children.refuse_checkpoints, checkpoint_attacks) == 0
    assert not (checkpoint_attacks[0].parent / PROOF).exists()


def test_the_commands_end_with_3_and_one_sentence(attacks, capsys, trials):
    for attack in attacks:
        for command in ("evaluate", "doctor"):
            trials()
            code = main([command, str(attack)])
            printed = capsys.readouterr()
            no_reward = not any((attack / f"{kind}.json").is_file() for kind in ("reward", "policy"))
            assert code == (USAGE if no_reward and command == "evaluate" else BAD_DATA), (attack, printed)
            assert "Traceback" not in printed.err
            if command == "evaluate":
                assert printed.err.count("\n") == 1
                assert len(printed.err) < 1000
    assert not (attacks[0].parent / PROOF).exists()


def test_one_step_back_is_taken_or_the_state_is_refused(checkpoint_attacks, trials):
    for attack in checkpoint_attacks:
        trials()
        warnings: list[str] = []
        try:
            found = checkpoint.load_latest(attack, children.TEMPLATE, warnings.append)
            refusal = ""
        except BadDataError as error:
            found, refusal = None, str(error)
        if found is None:  # whole, and not this run's
            assert "does not hold this run's state" in refusal, attack
            assert checkpoint.steps(attack) == [1, 2]
        else:
            assert found[1]["step"] == 1, attack
            assert len(warnings) == 1
            assert checkpoint.steps(attack) == [1]
