"""Reward artefacts: written whole, read with suspicion."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as tensors_to_bytes

from orexis.storage import artefact as module
from orexis.storage.artefact import expected_shapes, kind_in, read_artefact
from orexis.storage.card import write_card
from orexis.storage.files import sha256_of
from orexis.storage.reading import DamagedError, seal
from tests.storage.rewards import ALONE, GRID, NETWORK, NETWORKS, SPEC, random_params, write_reward

EGOCENTRIC = dataclasses.replace(NETWORK, view="egocentric")
CLOCKED = dataclasses.replace(NETWORK, sees_clock=True)


TRAINING = {"updates": 7, "lifetimes": 2, "seed": 1, "env_steps": 99}


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_reward(tmp_path / "reward", training=TRAINING)


@pytest.fixture(params=NETWORKS)
def any_folder(request, tmp_path) -> Path:
    """The folder of each thing that can be learned, called after how it was."""
    return write_reward(tmp_path / request.param, training=TRAINING, learn=request.param)


def file_of(folder: Path, end: str) -> Path:
    """Returns the record ("json") or the arrays ("safetensors") of the artefact in `folder`."""
    return folder / f"{kind_in(folder)}.{end}"


def rewrite(folder: Path, **changes) -> None:
    """Changes reward.json and seals it again: what an attacker or another version would write."""
    path = file_of(folder, "json")
    record = json.loads(path.read_text())
    record.update(changes)
    path.write_text(json.dumps(seal(record)))


def replace_arrays(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    path = file_of(folder, "safetensors")
    path.write_bytes(tensors_to_bytes(arrays))
    rewrite(folder, sha256=sha256_of(path))


def flat_params(learn: str = "reward") -> dict[str, np.ndarray]:
    params = random_params(network=NETWORKS[learn], learn=learn)
    return {f"{layer}.{leaf}": x for layer, leaves in params.items() for leaf, x in leaves.items()}


def test_what_is_written_is_read(any_folder):
    found, learn = read_artefact(any_folder), any_folder.name
    assert (found.task, found.spec, found.network, found.learn) == ("bandit", SPEC, NETWORKS[learn], learn)
    assert found.kind == ("reward" if learn == "reward" else "policy")
    assert found.record.get("kind") == (None if learn == "reward" else "policy")
    assert found.record["training"]["updates"] == 7
    expected = random_params(network=NETWORKS[learn], learn=learn)
    assert found.params.keys() == expected.keys()
    for layer in expected:
        for leaf in expected[layer]:
            np.testing.assert_array_equal(found.params[layer][leaf], expected[layer][leaf], strict=True)


def test_the_folder_has_three_files_and_the_card_tells_a_person(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "reward.json", "reward.safetensors"]
    card = (folder / "README.md").read_text()
    for fact in (
        "`bandit`",
        "| 7 |",
        "| 99 |",
        "lstm",
        "sees the action | yes",
        "view | planes |",
        "reward.step(next_observation, action, extrinsic, done)",
        sha256_of(folder / "reward.safetensors"),
    ):
        assert fact in card


def test_a_second_one_replaces_the_first_whole(folder):
    write_reward(folder, seed=5)
    np.testing.assert_array_equal(read_artefact(folder).params["head"]["w"], random_params(seed=5)["head"]["w"])
    assert [path.name for path in folder.parent.iterdir()] == ["reward"]


def test_the_card_of_a_policy_tells_how_it_was_learned_and_how_to_let_it_live(tmp_path):
    for learn in ("rl2", "maml"):
        folder = write_reward(tmp_path / learn, training=TRAINING, learn=learn)
        assert sorted(path.name for path in folder.iterdir()) == ["README.md", "policy.json", "policy.safetensors"]
        card = (folder / "README.md").read_text()
        for fact in (
            "# A learned policy",
            f"| learned as | {learn} |",
            "updates of the policy | 7 |",
            "orexis evaluate",
        ):
            assert fact in card
        assert "load_reward" not in card


def test_a_policy_is_no_reward_and_a_reward_no_policy(tmp_path):
    for kind, learn, told in (("reward", "reward", "policy"), ("policy", "rl2", "reward"), ("policy", "maml", None)):
        folder = write_reward(tmp_path / f"{learn}-{told}", learn=learn)
        rewrite(folder, kind=told)
        with pytest.raises(DamagedError, match=f"lies there as a {kind}"):
            read_artefact(folder)
    for told in ("ppo", "reward", ["rl2"], None, "maml"):
        folder = write_reward(tmp_path / f"learned as {told}", learn="rl2")
        rewrite(folder, learn=told)
        with pytest.raises(DamagedError, match=r"lies there as a policy|network has unknown fields"):
            read_artefact(folder)


def test_reading_needs_no_jax(folder):
    code = (
        "import sys; from pathlib import Path; from orexis.storage.artefact import read_artefact; "
        f"read_artefact(Path({str(folder)!r})); assert not [m for m in sys.modules if m.split('.')[0] == 'jax']"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_no_reward_is_not_damage(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError, match=r"it has no reward\.json, nor a policy\.json"):
            read_artefact(place)


@pytest.mark.parametrize("end", ["json", "safetensors"])
@pytest.mark.parametrize("how", ["empty", "half", "missing", "folder"])
def test_a_damaged_file_is_named(any_folder, end: str, how: str):
    folder, path = any_folder, file_of(any_folder, end)
    data = path.read_bytes()
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how != "missing":
        path.write_bytes(data[: len(data) // 2] if how == "half" else b"")
    expected = FileNotFoundError if end == "json" and how in ("missing", "folder") else DamagedError
    with pytest.raises(expected, match=path.name):
        read_artefact(folder)


@pytest.mark.parametrize("end", ["json", "safetensors"])
def test_every_flipped_bit_is_noticed(any_folder, end: str, trials):
    folder, path = any_folder, file_of(any_folder, end)
    whole = path.read_bytes()
    last = len(whole) - (end == "json")  # its last byte is a newline, which says nothing
    unnoticed = []
    for position in range(0, last, 3):
        flipped = bytes([whole[position] ^ (1 << position % 8)])
        path.write_bytes(whole[:position] + flipped + whole[position + 1 :])
        trials()
        try:
            read_artefact(folder)
            unnoticed.append(position)
        except DamagedError:
            pass
    assert unnoticed == []


@pytest.mark.parametrize("version", [0, 3, "1", None, [1]])
def test_another_format_version_is_refused_by_name(any_folder, version):
    folder = any_folder
    rewrite(folder, format_version=version)
    with pytest.raises(DamagedError, match=r"has format version .*; this Orexis reads 1 and 2"):
        read_artefact(folder)


def test_format_version_1_is_read(folder):
    path = folder / "reward.json"
    record = json.loads(path.read_text())
    del record["record_sha256"]
    path.write_text(json.dumps({**record, "format_version": 1}))
    assert read_artefact(folder).task == "bandit"
    path.write_text(json.dumps({**record, "format_version": 2}))
    with pytest.raises(DamagedError, match="is damaged"):
        read_artefact(folder)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"task": ["bandit"]}, "task must be a name"),
        ({"task": None}, "task must be a name"),
        ({"spec": None}, "spec must be an object"),
        ({"spec": {"num_actions": 3}}, "spec lacks fields"),
        ({"spec": {**vars(SPEC), "num_actions": 3.5}}, "spec.num_actions must be int"),
        ({"spec": {**vars(SPEC), "observation_shape": [3, -4, 2]}}, "all positive"),
        ({"spec": {**vars(SPEC), "observation_shape": [10**9, 10**9, 10**9]}}, "do not fit its spec"),
        ({"spec": {**vars(SPEC), "num_actions": 4}}, r"core.wx should be \(11, 16\) and is \(10, 16\)"),
        ({"network": {**vars(NETWORK), "history": "gru"}}, "network.history must be one of"),
        ({"network": {**vars(NETWORK), "num_units": 10**30}}, "num_units must be at most"),
        ({"network": {**vars(NETWORK), "colour": 1}}, "network has unknown fields: colour"),
        ({"network": {**vars(NETWORK), "view": "polar"}}, "network.view must be one of"),
        ({"network": vars(CLOCKED)}, r"core.wx should be \(19, 16\) and is \(10, 16\)"),
        ({"network": {**vars(NETWORK), "sees_clock": 1}}, "network.sees_clock must be bool"),
        *(
            ({"network": vars(CLOCKED), "spec": {**vars(SPEC), "episodes_per_lifetime": odd}}, f"episodes.*{why}")
            for odd, why in (
                (0, "must be positive"),
                (-1, "must be positive"),
                (2**31, "at most"),
                (6.0, "must be int"),
            )
        ),
        ({"network": {**vars(NETWORK), "keeps_ledger": True}}, "keeps_ledger needs the view egocentric"),
        ({"network": {**vars(EGOCENTRIC), "keeps_ledger": True}, "spec": vars(ALONE)}, "a ledger is of the things"),
        ({"network": vars(EGOCENTRIC)}, "cannot be read: the egocentric view needs .* no agent_plane"),
        ({"network": vars(EGOCENTRIC), "spec": vars(GRID)}, "conv.b should be absent"),
        ({"spec": {**vars(SPEC), "agent_plane": 2}}, "agent_plane must be one of the 2 planes"),
        ({"sha256": "0" * 64}, "its sha256 is not the one in reward.json"),
        ({"sha256": None}, "its sha256 is not the one in reward.json"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(folder, changes, complaint):
    rewrite(folder, **changes)
    with pytest.raises(DamagedError, match=complaint):
        read_artefact(folder)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda arrays: {**arrays, "head.w": arrays["head.w"].astype(np.float64)}, "head.w .* must be finite float32"),
        (lambda arrays: {**arrays, "head.w": arrays["head.w"] * np.nan}, "head.w .* must be finite float32"),
        (lambda arrays: {**arrays, "conv.b": arrays["conv.b"] / 0}, "conv.b .* must be finite float32"),
        (lambda arrays: {**arrays, "head.w": arrays["head.w"].T.copy()}, r"head.w should be \(4, 1\) and is \(1, 4\)"),
        (lambda arrays: {**arrays, "extra.w": arrays["head.w"]}, "extra.w should be absent"),
        (lambda arrays: {**arrays, "head.w.x": arrays["head.w"]}, "head.w.x should be absent"),
        (lambda arrays: {name: x for name, x in arrays.items() if name != "head.b"}, "head.b .* is absent"),
        (lambda arrays: {}, "do not fit its spec"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_arrays_that_do_not_fit_are_refused(folder, change, complaint):
    replace_arrays(folder, change(flat_params()))
    with pytest.raises(DamagedError, match=complaint):
        read_artefact(folder)


@pytest.mark.parametrize("learn", ["rl2", "maml"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_arrays_that_fit_no_policy_are_refused(tmp_path, learn: str):
    folder = write_reward(tmp_path / learn, learn=learn)
    whole = flat_params(learn)
    last = sorted(whole)[-1]
    for arrays in (
        {**whole, last: whole[last].astype(np.float64)},
        {**whole, last: whole[last] * np.nan},
        {**whole, last: whole[last][..., :-1]},
        {name: x for name, x in whole.items() if name != last},
        {**whole, "extra.w": whole[last]},
        flat_params(),
    ):
        replace_arrays(folder, arrays)
        with pytest.raises(DamagedError, match=r"must be finite float32|do not fit its spec"):
            read_artefact(folder)
    replace_arrays(folder, whole)
    assert read_artefact(folder).learn == learn


def test_large_finite_numbers_are_finite(folder):
    replace_arrays(folder, {**flat_params(), "head.w": np.full((4, 1), 3e38, np.float32)})
    assert read_artefact(folder).params["head"]["w"][0, 0] == np.float32(3e38)


def test_a_reward_that_is_replaced_while_it_is_read_is_read_again(folder, monkeypatch):
    read_json, swaps = module.read_json, []

    def read_then_swap(path):
        record = read_json(path)
        if len(swaps) < 3:
            swaps.append(write_reward(folder, seed=10 + len(swaps)))
        return record

    monkeypatch.setattr(module, "read_json", read_then_swap)
    found = read_artefact(folder)
    np.testing.assert_array_equal(found.params["head"]["w"], random_params(seed=12)["head"]["w"])


@pytest.mark.parametrize(
    ("spec", "view"),
    [(SPEC, "planes"), (GRID, "egocentric"), (ALONE, "egocentric"), (ALONE, "planes")],
    ids=["planes", "egocentric", "alone, egocentric", "alone, planes"],
)
@pytest.mark.parametrize("history", ["lstm", "none"])
@pytest.mark.parametrize("sees_action", [True, False])
@pytest.mark.parametrize("sees_clock", [True, False])
def test_the_shapes_are_those_that_training_makes(spec, view, history, sees_action, sees_clock):
    import jax

    from orexis.networks import history as networks

    network = dataclasses.replace(NETWORK, history=history, sees_action=sees_action, view=view, sees_clock=sees_clock)
    made = jax.eval_shape(lambda: networks.init(jax.random.key(0), spec, network))
    assert jax.tree.map(lambda x: x.shape, made) == expected_shapes(spec, network)


def test_the_shapes_of_policies_are_those_that_training_makes():
    import jax

    from orexis.agents.registry import POLICIES
    from orexis.config import AgentConfig

    for learn, attribute in (("rl2", "params"), ("maml", "theta")):
        agent = POLICIES[learn].factory(SPEC, NETWORKS[learn], AgentConfig())
        made = getattr(jax.eval_shape(agent.init, jax.random.key(0)), attribute)
        assert jax.tree.map(lambda x: x.shape, made) == expected_shapes(SPEC, NETWORKS[learn], learn)


def test_an_egocentric_reward_is_read_as_it_was_written_and_its_card_says_what_it_needs(tmp_path):
    folder = write_reward(tmp_path / "reward", network=EGOCENTRIC, spec=GRID)
    found = read_artefact(folder)
    assert (found.spec, found.network) == (GRID, EGOCENTRIC)
    assert found.params["hidden"]["w"].shape == (3 * 4 + 1, 5)
    card = (folder / "README.md").read_text()
    assert "| view | egocentric: " in card
    assert "reward.step(next_observation, action, extrinsic, done, observation=acted_on)" in card


def test_a_reward_with_a_clock_is_read_as_it_was_written_and_its_card_says_so(tmp_path, folder):
    place = write_reward(tmp_path / "clocked", network=CLOCKED)
    found = read_artefact(place)
    assert (found.spec, found.network) == (SPEC, CLOCKED)
    assert "| sees a clock | yes, of lifetimes of 6 episodes; " in (place / "README.md").read_text()
    assert "clock" not in (folder / "README.md").read_text().partition("## ")[0]


def test_a_policy_with_a_clock_is_refused(tmp_path):
    with pytest.raises(DamagedError, match="sees_clock must be off for a policy"):
        read_artefact(write_reward(tmp_path / "rl2", network=CLOCKED, learn="rl2"))


def test_a_reward_of_before_there_were_views_and_clocks_sees_planes_and_no_clock(folder):
    record = json.loads((folder / "reward.json").read_text())
    names = ("view", "sees_clock")
    older = {
        "network": {name: value for name, value in record["network"].items() if name not in names},
        "spec": {name: value for name, value in record["spec"].items() if name != "agent_plane"},
    }
    rewrite(folder, **older)
    found = read_artefact(folder)
    assert (found.spec, found.network) == (SPEC, NETWORK)
    assert "| view | planes |" in write_card(found.record)
