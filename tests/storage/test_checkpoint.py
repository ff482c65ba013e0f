"""Checkpoints: what goes in comes out, damage is noticed, and there is always one to go on with."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orexis.errors import BAD_DATA, BadDataError, UsageError
from orexis.storage import checkpoint
from orexis.types import record


@record
class State:
    weights: dict
    count: jax.Array
    rows: list


def make_state(number: int) -> State:
    rng = np.random.default_rng(number)
    return State(
        weights={"w": rng.normal(size=(3, 4)).astype(np.float32), "Größe/../b": np.full(5, number, np.int32)},
        count=np.int32(number),
        rows=[rng.normal(size=(2, 0, 3)), np.array([True, False]), np.array(7, np.uint8)],
    )


def template_of(state: State):
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), state)


def save(folder: Path, *steps: int) -> None:
    for step in steps:
        checkpoint.save(folder, step, make_state(step), {"note": step})


def load(folder: Path):
    """Returns the step of the newest good checkpoint, its contents compared, and the warnings."""
    warnings: list[str] = []
    state, manifest = checkpoint.load_latest(folder, template_of(make_state(0)), warnings.append)
    assert_equal(state, make_state(manifest["step"]))
    assert manifest["note"] == manifest["step"]
    return manifest["step"], warnings


def assert_equal(ours: State, expected: State) -> None:
    def same(a, b):
        np.testing.assert_array_equal(a, b, strict=True)

    jax.tree.map(same, ours, jax.tree.map(np.asarray, expected))


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "checkpoints"


def test_what_is_saved_comes_back_bit_for_bit(folder):
    save(folder, 5)
    assert load(folder) == (5, [])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(10.0)[::-2],
        np.broadcast_to(np.float32(3), (4, 2)),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(np.nan, np.float32),
        np.array([np.inf, -0.0, 5e-324]),
        np.zeros((0, 3), np.int8),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}{array.strides}",
)
def test_arrays_of_any_layout_survive(folder, array):
    # safetensors writes the memory of an array as it lies there: transposed views come back scrambled.
    state = {"x": array}
    checkpoint.save(folder, 1, state, {})
    found, _ = checkpoint.load_latest(folder, template_of(state), pytest.fail)
    assert found["x"].dtype == array.dtype
    assert found["x"].shape == array.shape
    assert found["x"].tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "make", [lambda: jax.random.key(0), lambda: jnp.zeros(3, jnp.bfloat16), lambda: jnp.zeros(3, complex)]
)
def test_a_state_that_cannot_be_kept_is_refused_before_it_is_trained(make):
    template = jax.eval_shape(lambda: {"world": {"x": make(), "y": jnp.zeros(3)}})
    with pytest.raises(UsageError, match=r"\['world'\]\['x'\] is .* which a checkpoint cannot keep"):
        checkpoint.check_template(template)
    checkpoint.check_template({"y": template["world"]["y"]})


def test_nothing_saved_yet_is_no_error(folder):
    assert checkpoint.load_latest(folder, {}, pytest.fail) is None
    folder.mkdir()
    assert checkpoint.load_latest(folder, {}, pytest.fail) is None


def test_two_are_kept(folder):
    save(folder, 1, 2, 3, 4)
    assert sorted(path.name for path in folder.iterdir()) == ["step_00000003", "step_00000004"]


def test_the_order_is_that_of_numbers_not_of_names(folder):
    save(folder, 99_999_999, 100_000_000, 100_000_001)
    assert checkpoint.steps(folder) == [100_000_000, 100_000_001]
    assert load(folder) == (100_000_001, [])


def test_what_is_pruned_leaves_two_that_verify(folder):
    save(folder, 1, 2)
    damage(folder / "step_00000002" / "state.safetensors", "flip")
    save(folder, 3)
    assert checkpoint.steps(folder) == [1, 2, 3]
    save(folder, 4)
    assert checkpoint.steps(folder) == [3, 4]


def test_a_step_that_is_saved_again_replaces_the_first(folder):
    checkpoint.save(folder, 4, make_state(1), {"note": 1})
    checkpoint.save(folder, 4, make_state(4), {"note": 4})
    assert load(folder) == (4, [])
    assert [path.name for path in folder.iterdir()] == ["step_00000004"]


def test_drafts_of_a_process_that_died_are_removed(folder):
    save(folder, 1)
    draft = folder / ".tmp-12345-2"
    draft.mkdir()
    (draft / "state.safetensors").write_bytes(b"half")
    assert load(folder) == (1, [])
    assert not draft.exists()


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "flip":
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    elif how == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif how == "cut the last byte":
        path.write_bytes(data[:-2])  # of the manifest the last is a newline, which says nothing
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "longer":
        path.write_bytes(data + b"x")
    elif how == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.unlink()


DAMAGES = ("flip", "truncate", "cut the last byte", "empty", "longer", "folder", "missing")


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["state.safetensors", "manifest.json"])
def test_damage_is_noticed_moved_aside_and_the_one_before_is_taken(folder, name: str, how: str):
    save(folder, 1, 2)
    damage(folder / "step_00000002" / name, how)
    step, warnings = load(folder)
    assert step == 1
    assert len(warnings) == 1
    assert "step_00000002 is bad and was moved aside as step_00000002.corrupt" in warnings[0]
    assert name in warnings[0]
    assert (folder / "step_00000002.corrupt").is_dir()
    assert load(folder) == (1, [])  # said once
    save(folder, 2)
    assert load(folder) == (2, [])


@pytest.mark.parametrize(("name", "says_nothing"), [("manifest.json", 1), ("state.safetensors", 0)])
def test_every_bit_counts(folder, name: str, says_nothing: int, trials):
    save(folder, 1)
    path = folder / "step_00000001" / name
    whole = path.read_bytes()
    unnoticed = []
    for position in range(len(whole) - says_nothing):  # the manifest ends with a newline
        for bit in range(8):
            flipped = bytes([whole[position] ^ (1 << bit)])
            path.write_bytes(whole[:position] + flipped + whole[position + 1 :])
            trials()
            try:
                checkpoint.verify(path.parent, checkpoint.read_manifest(path.parent))
                unnoticed.append((position, bit))
            except ValueError:
                pass
    assert unnoticed == []


def test_moved_aside_names_do_not_collide(folder):
    for expected in ("step_00000002.corrupt", "step_00000002-2.corrupt", "step_00000002-3.corrupt"):
        save(folder, 1, 2)
        damage(folder / "step_00000002" / "state.safetensors", "empty")
        load(folder)
        assert (folder / expected).is_dir()


def test_all_bad_is_an_error_that_lists_them_and_not_a_fresh_start(folder):
    save(folder, 1, 2)
    damage(folder / "step_00000001" / "state.safetensors", "flip")
    damage(folder / "step_00000002" / "manifest.json", "missing")
    for _ in range(2):  # the second time there is nothing but what was moved aside
        with pytest.raises(BadDataError, match=r"no good checkpoint is left.*step_00000001.*:") as error:
            load(folder)
        assert "step_00000002" in str(error.value)
        assert error.value.code == BAD_DATA


def rewrite(place: Path, **changes) -> None:
    manifest = json.loads((place / "manifest.json").read_text())
    manifest.update(changes)
    (place / "manifest.json").write_text(json.dumps(checkpoint.seal(manifest)))


@pytest.mark.parametrize("version", [0, 3, 99, "2", None])
def test_another_format_version_is_refused_by_name_and_left_alone(folder, version):
    save(folder, 1, 2)
    rewrite(folder / "step_00000002", format_version=version)
    with pytest.raises(BadDataError, match=f"format version {version!r}; this Orexis reads 1 and 2"):
        load(folder)
    assert checkpoint.steps(folder) == [1, 2]


def test_format_version_1_is_read(folder):
    save(folder, 7)
    path = folder / "step_00000007" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["record_sha256"]
    path.write_text(json.dumps({**manifest, "format_version": 1}))
    assert load(folder) == (7, [])
    damage(folder / "step_00000007" / "state.safetensors", "flip")
    with pytest.raises(BadDataError, match="sha256 is not the one in the manifest"):
        load(folder)


def test_a_checkpoint_under_another_ones_name_is_not_believed(folder):
    save(folder, 1, 2)
    (folder / "step_00000002").rename(folder / "step_00000009")
    assert load(folder)[0] == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda state: {**state, "more": np.zeros(3)}, r"1 arrays differ, the first is \['more'\]"),
        (lambda state: {}, "1 arrays differ"),
        (lambda state: {"x": np.zeros((2, 3))}, r"\['x'\] is float64\(3, 2\), expected float64\(2, 3\)"),
        (lambda state: {"x": np.zeros((3, 2), np.float32)}, "expected float32"),
    ],
)
def test_a_whole_checkpoint_of_another_state_is_refused_and_left_alone(folder, change, complaint):
    state = {"x": np.zeros((3, 2))}
    checkpoint.save(folder, 1, state, {})
    with pytest.raises(BadDataError, match=f"does not hold this run's state: .*{complaint}"):
        checkpoint.load_latest(folder, template_of(change(state)), pytest.fail)
    assert checkpoint.steps(folder) == [1]


def test_a_state_that_is_far_too_large_is_not_even_read(folder):
    save(folder, 1, 2)
    path = folder / "step_00000002" / "state.safetensors"
    with path.open("r+b") as file:
        file.truncate(2**40)  # a sparse file of a terabyte
    step, warnings = load(folder)
    assert step == 1
    assert "bytes that are plausible" in warnings[0]


def test_what_json_cannot_say_is_not_saved(folder):
    with pytest.raises(ValueError, match="Out of range float"):
        checkpoint.save(folder, 1, make_state(1), {"loss": float("nan")})
    assert list(folder.iterdir()) == []


def test_what_an_earlier_version_did_not_save_is_taken_from_a_fresh_state(folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "NEW_PARTS", ("['new']",))
    old, fresh = {"x": np.arange(3)}, {"new": {"scale": np.float32(7)}, "x": np.zeros(3, int)}
    checkpoint.save(folder, 1, old, {})
    found, _ = checkpoint.load_latest(folder, template_of(fresh), pytest.fail, lambda: fresh)
    np.testing.assert_array_equal(found["x"], old["x"])
    assert found["new"]["scale"] == 7
    monkeypatch.setattr(checkpoint, "NEW_PARTS", ())
    with pytest.raises(BadDataError, match="does not hold this run's state: 1 arrays differ"):
        checkpoint.load_latest(folder, template_of(fresh), pytest.fail, lambda: fresh)


def test_what_was_saved_is_never_replaced_by_a_fresh_one(folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "NEW_PARTS", ("['new']",))
    saved = {"new": {"one": np.float32(1)}}
    checkpoint.save(folder, 1, saved, {})
    template = template_of({"new": {"one": np.float32(0), "two": np.float32(0)}})
    fresh = {"new": {"one": np.float32(5), "two": np.float32(6)}}
    found, _ = checkpoint.load_latest(folder, template, pytest.fail, lambda: fresh)
    assert found == {"new": {"one": 1, "two": 6}}
    checkpoint.load_latest(folder, template_of(saved), pytest.fail, lambda: pytest.fail("nothing is missing"))


def test_a_part_can_be_read_without_a_template_and_within_bounds(folder):
    save(folder, 5)
    place = checkpoint.place_of(folder, 5)
    part = checkpoint.read_part(place, ".weights", 1000)
    np.testing.assert_array_equal(part["['w']"], make_state(5).weights["w"])
    assert len(part) == 2
    with pytest.raises(checkpoint.DamagedError, match="more than the 47 bytes"):
        checkpoint.read_part(place, ".weights", 47)  # w alone has 48
