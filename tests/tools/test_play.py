"""`orexis play` and `orexis tasks`, in a terminal and without one."""

import os
import pty

import numpy as np
import pytest
from PIL import Image

from orexis import cli
from orexis.errors import OK, USAGE, UsageError
from orexis.interop.environments import OrexisEnv
from orexis.tasks.abc import RandomABC
from orexis.tools import play as module
from orexis.tools.play import Moment, action_of, caption, keyboard, play, random_chooser, walk, write_gif

UP, DOWN, LEFT, RIGHT = range(4)


@pytest.fixture(autouse=True)
def jax_stays_as_it_is(monkeypatch):
    monkeypatch.setattr("orexis.platform.prepare_jax", lambda num_devices=None: None)


def choices(*actions: int | None):
    remaining = iter(actions)
    return lambda: next(remaining, None)


def test_a_walk_shows_every_moment_of_every_episode():
    env = OrexisEnv(RandomABC())
    moments = list(walk(env, choices(UP, UP, LEFT, LEFT, DOWN, DOWN, LEFT, LEFT), 2, seed=3, reveal=False))
    assert [(moment.episode, moment.step) for moment in moments] == [(e, t) for e in (0, 1) for t in range(5)]
    assert [moment.over for moment in moments] == 2 * [False, False, False, False, True]
    assert [moment.outcome for moment in moments if moment.over] == ["A", "C"]
    first, second = (moment.episode_return for moment in moments if moment.over)
    assert moments[-1].lifetime_return == pytest.approx(first + second)
    assert moments[4].signs[0, 0] == "@"


def test_a_walk_ends_where_the_player_quits():
    moments = list(walk(OrexisEnv(RandomABC()), choices(UP, None), 5, seed=0, reveal=False))
    assert len(moments) == 2


def test_a_person_does_not_see_the_hidden_goal_and_a_spectator_does():
    env = OrexisEnv("empty-rooms")
    for reveal in (False, True):
        first = next(walk(env, choices(), 1, seed=1, reveal=reveal))
        assert ("*" in first.signs) == reveal


@pytest.mark.parametrize(
    ("key", "action"),
    [
        (b"\x1b[A", UP),
        (b"\x1b[B", DOWN),
        (b"\x1b[D", LEFT),
        (b"\x1b[C", RIGHT),
        (b"w", UP),
        (b"S", DOWN),
        (b"a", LEFT),
        (b"d", RIGHT),
        (b"2", LEFT),
        (b"t", None),  # a diagonal, of which there are none
        (b"7", None),
        (b"x", None),
        (b"\x1b", None),
    ],
)
def test_keys_stand_for_actions(key, action):
    assert action_of(key, num_actions=4, has_directions=True) == action


def test_in_a_task_without_directions_only_numbers_stand_for_actions():
    assert action_of(b"1", 3, has_directions=False) == 1
    assert action_of(b"w", 3, has_directions=False) is None


@pytest.fixture
def terminal(monkeypatch):
    """Gives the other end of a terminal that is the standard input."""
    ours, theirs = pty.openpty()
    with open(theirs) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield ours
    os.close(ours)


def test_keys_are_read_from_the_terminal_which_is_restored_after(terminal, monkeypatch):
    import sys
    import termios

    before = termios.tcgetattr(sys.stdin.fileno())
    os.write(terminal, b"w\x1b[Bx\x1b[Cdq")
    with keyboard(OrexisEnv(RandomABC())) as choose:
        assert termios.tcgetattr(sys.stdin.fileno())[3] != before[3]
        assert [choose() for _ in range(5)] == [UP, DOWN, RIGHT, RIGHT, None]
    assert termios.tcgetattr(sys.stdin.fileno())[3] == before[3]


def test_a_person_plays_to_the_end(terminal, tmp_path, capsys):
    os.write(terminal, b"wwaa" + b"ssaa" + b"q")
    gif = tmp_path / "walk.gif"
    assert cli.main(["play", "random-abc", "--seed", "3", "--gif", str(gif)]) == OK
    shown = capsys.readouterr().out
    assert "episode 1: 4 steps" in shown
    assert "episode 2: 4 steps" in shown
    with Image.open(gif) as picture:
        assert picture.n_frames == 11  # five moments of two episodes, and the first of the third


def test_a_random_walk_needs_no_terminal_and_can_be_written_down(tmp_path, capsys):
    gif = tmp_path / "walk.gif"
    assert play("random-abc", True, gif, 2, 0) == OK
    shown = capsys.readouterr().out
    assert "episode 2: " in shown
    assert "2 episodes, " in shown
    with Image.open(gif) as picture:
        assert picture.format == "GIF"
        assert 2 <= picture.n_frames <= 22
        assert picture.size == (224, 5 * 32 + 40)


def test_only_a_random_walk_shows_what_is_hidden(terminal, monkeypatch):
    shown = []
    monkeypatch.setattr(module, "walk", lambda *given, reveal: shown.append(reveal) or iter(()))
    play("random-abc", True, None, 1, 0)
    play("random-abc", False, None, 1, 0)
    assert shown == [True, False]


def test_equal_seeds_walk_equally():
    chosen = [random_chooser(5, 4) for _ in range(2)]
    assert [chosen[0]() for _ in range(50)] == [chosen[1]() for _ in range(50)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["play", "random-abc"], "keys can be read from a terminal only; add --random"),
        (["play", "no-such-task", "--random"], "unknown task 'no-such-task'"),
        (["play", "random-abc", "--random", "--episodes", "0"], "--episodes must be at least 1, not 0"),
        (["play", "random-abc", "--random", "--seed", "-1"], "--seed must be between 0 and"),
        (["play", "random-abc", "--random", "--gif", "/no/such/folder/x.gif"], "cannot write"),
        (["play", "key-box", "--random", "--gif", "x.gif", "--episodes", "41"], "take --episodes 40 or fewer"),
        (["play", "bandit", "--random", "--actions", "extended"], "the actions of Bandit are no directions"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(arguments, sentence, capsys, monkeypatch):
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert cli.main(arguments) == USAGE
    complaint = capsys.readouterr().err
    assert sentence in complaint
    assert complaint.count("\n") == 1


def test_there_is_no_gif_of_nothing(tmp_path):
    with pytest.raises(UsageError, match="nothing was played"):
        write_gif(tmp_path / "x.gif", [])


def test_captions_say_how_it_stands():
    spec = RandomABC().spec
    moment = Moment(np.full((1, 1), "@"), 4, 10, 0.0, 0.0, -0.25, True, "")
    assert caption(moment, spec) == "episode 5/50  step 10/10  total -0.25  time is up"
    assert module.summary(moment) == "episode 5: 10 steps, +0.00, time was up"


def test_the_list_of_tasks_shows_drawings_numbers_and_ids(capsys):
    assert cli.main(["tasks"]) == OK
    shown = capsys.readouterr().out
    for part in (
        "200 episodes of at most 100 steps",
        "best possible return of an episode: 0.3958",
        "agent: T = 2, sgd 0.1, entropy 0.05",
        "orexis:Orexis/NonstationaryABC-v0",
        "A · · · B",
        "████· ██████████· ████",
    ):
        assert part in shown
