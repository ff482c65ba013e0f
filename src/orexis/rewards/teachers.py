"""Teachers of the four domains: hand-made dense rewards, made from a lifetime's own history, see `teaching`.

They see positions, not actions, so they serve permuted and extended actions as well.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orexis.rewards.base import RewardSource
from orexis.rewards.teaching import FAR, Step, Teacher, Worths, all_distances
from orexis.tasks.abc import ABCWorld, NonstationaryABC, RandomABC
from orexis.tasks.actions import Extended, Permuted
from orexis.tasks.base import Task
from orexis.tasks.empty_rooms import EmptyRooms
from orexis.tasks.key_box import THINGS, KeyBox
from orexis.types import record


def worth_a_visit(best: Sequence[float]) -> tuple[int, ...]:
    """Returns the indices of the things that may pay more than nothing, by the best that each can pay.

    That much is known of the distribution of tasks: A and C by default, never B.
    """
    found = tuple(index for index, most in enumerate(best) if most > 0)
    if not found:
        raise ValueError(f"a teacher needs something that may pay more than 0, the best are {tuple(best)}")
    return found


@dataclasses.dataclass(frozen=True)
class ABCTeacher(Teacher):
    """ABC World: to A if it was never reached, then to C if it never was, then to the one that paid better last.

    With `forgets`, for a world that changes: when the object gone to pays less than the last time, or less than
    nothing, what is known of the others is forgotten, so that they are tried again.
    """

    candidates: tuple[int, ...] = (0, 2)  # indices of the objects to go to, in the order in which they are tried
    forgets: bool = False

    def begin(self, params: jax.Array, key: jax.Array) -> Worths:
        del params, key
        return Worths.unknown(len(self.candidates))

    def judge(self, state: Worths, step: Step) -> tuple[jax.Array, Worths]:
        world: ABCWorld = _inner(self.task)
        places = tuple(world.map.objects[name] for name in world.outcomes)
        away = jnp.asarray(all_distances(world.map.walls, self.moves, places))
        cells = jnp.array([row * world.map.width + column for row, column in (places[i] for i in self.candidates)])
        before, after = step.before[self.agent_plane], step.after[self.agent_plane]
        chosen = state.choose()
        reached = cells == after
        following = state.after(reached, step.reward)
        if self.forgets:
            worse = (step.reward < 0) | (state.tried[chosen] & (step.reward < state.paid[chosen]))
            following = Worths(following.tried & (reached | ~(reached[chosen] & worse)), following.paid)
        return away[after, cells[chosen]] < away[before, cells[chosen]], following


@record
class Explored:
    """What a lifetime knows of its rooms."""

    visited: jax.Array  # bool[H·W]  arrived in, at least once; walls count as visited
    goal: jax.Array  # i32[]         its cell, −1 until it is found


@dataclasses.dataclass(frozen=True)
class RoomsTeacher(Teacher):
    """Empty Rooms: to the nearest cell that was not yet arrived in, until one of them pays; from then on to that one.

    To the cell that one stands in it is two steps, away and back: only arriving pays.
    """

    def begin(self, params: jax.Array, key: jax.Array) -> Explored:
        del params, key
        return Explored(jnp.asarray(_inner(self.task).map.walls.ravel()), -jnp.ones((), jnp.int32))

    def judge(self, state: Explored, step: Step) -> tuple[jax.Array, Explored]:
        walls = _inner(self.task).map.walls
        away = all_distances(walls, self.moves)
        before, after = step.before[self.agent_plane], step.after[self.agent_plane]
        cells = jnp.arange(walls.size)
        wanted = jnp.where(state.goal >= 0, cells == state.goal, ~state.visited)
        from_here = jnp.asarray(np.where(np.eye(walls.size, dtype=bool), 2, away))[before]
        to_go, left = (jnp.min(jnp.where(wanted, row, FAR)) for row in (from_here, jnp.asarray(away)[after]))
        found = jnp.where(step.reward > 0, after, state.goal)
        return left < to_go, Explored(state.visited | (cells == after), found)


@dataclasses.dataclass(frozen=True)
class KeyBoxTeacher(Teacher):
    """Key-Box: to the key until it is held; then to box A if its worth is unknown, to C if it is, then to the better.

    Opening another box than the one gone to ends the episode and so comes nearer to nothing. Ways around boxes are
    not thought of: a box that stands in the way has to be left aside at the cost of a step that pays −s.
    """

    candidates: tuple[int, ...] = (0, 2)

    def begin(self, params: jax.Array, key: jax.Array) -> Worths:
        del params, key
        return Worths.unknown(len(self.candidates))

    def judge(self, state: Worths, step: Step) -> tuple[jax.Array, Worths]:
        away = jnp.asarray(all_distances(_inner(self.task).walls, self.moves))
        agent, key, boxes = THINGS.index("agent"), THINGS.index("key"), THINGS.index("A")
        before, after = step.before[agent], step.after[agent]
        chosen = jnp.array(self.candidates)[state.choose()]
        held = step.before[key] == before  # a key that was picked up is shown in the agent's own cell
        target = jnp.where(held, step.before[boxes + chosen], step.before[key])
        opened = (step.after[key] == after) & (step.after[boxes : boxes + 3] == after)  # bool[3]
        elsewhere = opened.any() & ~opened[chosen]
        nearer = (away[after, target] < away[before, target]) & ~elsewhere
        return nearer, state.after(opened[jnp.array(self.candidates)], step.reward)


def _of_random_abc(task: Task, scale: float) -> RewardSource:
    return ABCTeacher(task, scale, candidates=worth_a_visit(_inner(task).high))


def _of_nonstationary_abc(task: Task, scale: float) -> RewardSource:
    rewards = _inner(task).rewards
    either = [max(pair) for pair in zip(rewards, rewards[::-1], strict=True)]  # before and after a swap
    return ABCTeacher(task, scale, candidates=worth_a_visit(either), forgets=True)


def _of_empty_rooms(task: Task, scale: float) -> RewardSource:
    worth_a_visit([_inner(task).goal_reward])
    return RoomsTeacher(task, scale)


def _of_key_box(task: Task, scale: float) -> RewardSource:
    return KeyBoxTeacher(task, scale, candidates=worth_a_visit(_inner(task).high))


TEACHERS: dict[type, Callable[[Task, float], RewardSource]] = {
    RandomABC: _of_random_abc,
    NonstationaryABC: _of_nonstationary_abc,
    EmptyRooms: _of_empty_rooms,
    KeyBox: _of_key_box,
}
"""The tasks that have a teacher of ours."""


def make_teacher(task: Task, scale: float) -> RewardSource:
    """Returns the teacher of `task`: what its own method `teacher(scale)` returns, if it has one, else one of ours.

    Raises ValueError for a task that has none, or that has nothing to be taught.
    """
    if hasattr(task, "teacher"):
        return task.teacher(scale)
    for kind, make in TEACHERS.items():
        if isinstance(_inner(task), kind):
            return make(task, scale)
    names = ", ".join(kind.__name__ for kind in TEACHERS)
    raise ValueError(f"{type(_inner(task)).__name__} has no teacher: it has no method `teacher` and is none of {names}")


def _inner(task: Task) -> Any:
    """Returns the task itself, without another action space around it."""
    while isinstance(task, Permuted | Extended):
        task = task.task
    return task
