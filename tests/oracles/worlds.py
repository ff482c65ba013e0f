"""The rules of the four domains again, in plain Python and NumPy, written from the paper and without a look at `src`.

Slow and obvious: one lifetime, one `if` for each rule. What is drawn at random (goals, rewards, where things lie) is
handed in, because two generators of random numbers cannot be compared number by number.
"""

import numpy as np

STEPS = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1), 4: (-1, -1), 5: (-1, 1), 6: (1, -1), 7: (1, 1)}

ROOMS = [
    ".....#.....",
    ".....#.....",
    "...........",
    ".....#.....",
    ".....#.....",
    "##.#####.##",
    ".....#.....",
    ".....#.....",
    "...........",
    ".....#.....",
    ".....#.....",
]


WALLS = np.array([[sign == "#" for sign in line] for line in ROOMS], np.float32)


def go(lines: list[str], place: tuple[int, int], action: int) -> tuple[int, int]:
    """Returns where a step leads: the same place if a wall or the border is in the way."""
    down, right = STEPS[action]
    row, column = place[0] + down, place[1] + right
    if row < 0 or row >= len(lines) or column < 0 or column >= len(lines[0]):
        return place
    if lines[row][column] == "#":
        return place
    return (row, column)


def mark(shape: tuple[int, int], *places: tuple[int, int]) -> np.ndarray:
    """Returns f32[H, W, planes], a one in each plane."""
    planes = np.zeros((*shape, len(places)), np.float32)
    for index, place in enumerate(places):
        planes[place[0], place[1], index] = 1.0
    return planes


class Rooms:
    """Empty Rooms: 100 steps, 200 episodes, +1 in the goal."""

    time_limit, episodes = 100, 200

    def __init__(self, goal: tuple[int, int]):
        self.goal = goal

    def begin(self, episode: int, scattered: None) -> None:
        self.agent = (2, 2)

    def act(self, action: int) -> tuple[float, bool]:
        self.agent = go(ROOMS, self.agent, action)
        if self.agent == self.goal:
            return 1.0, True
        return 0.0, False

    def look(self) -> np.ndarray:
        seen = mark((11, 11), self.agent, self.agent)
        seen[:, :, 1] = WALLS
        return seen


class ABC:
    """Random ABC: 10 steps, 50 episodes, objects in three corners."""

    time_limit, episodes = 10, 50
    places = ((0, 0), (0, 4), (4, 0))

    def __init__(self, rewards: list[float]):
        self.rewards = rewards

    def begin(self, episode: int, scattered: None) -> None:
        self.agent = (2, 2)
        self.today = self.rewards

    def act(self, action: int) -> tuple[float, bool]:
        self.agent = go(5 * ["....."], self.agent, action)
        for index in range(3):
            if self.agent == self.places[index]:
                return self.today[index], True
        return 0.0, False

    def look(self) -> np.ndarray:
        return mark((5, 5), self.agent, *self.places)


class SwappingABC(ABC):
    """Non-stationary ABC: 1000 episodes; from episode 250 on A and C pay what the other did, from 500 on again."""

    episodes = 1000

    def begin(self, episode: int, scattered: None) -> None:
        super().begin(episode, scattered)
        a, b, c = self.rewards
        if 250 <= episode < 500 or 750 <= episode < 1000:
            self.today = [c, b, a]


class Boxes:
    """Key-Box: 100 steps, 5000 episodes; agent, key, A, B, C are scattered anew in each."""

    time_limit, episodes = 100, 5000

    def __init__(self, rewards: list[float]):
        self.rewards = rewards

    def begin(self, episode: int, scattered: list[tuple[int, int]]) -> None:
        self.agent, self.key, *self.boxes = scattered
        self.holds_key = False

    def act(self, action: int) -> tuple[float, bool]:
        self.agent = go(9 * ["........."], self.agent, action)
        if self.agent == self.key:
            self.holds_key = True
        if self.holds_key:
            self.key = self.agent
            for index in range(3):
                if self.agent == self.boxes[index]:
                    return self.rewards[index], True
        return 0.0, False

    def look(self) -> np.ndarray:
        return mark((9, 9), self.agent, self.key, *self.boxes)


class Lifetime:
    """Counts steps and episodes for a world: a time limit ends an episode, the last episode ends the lifetime."""

    def __init__(self, world: Rooms | ABC | Boxes, episode: int, scattered: list[tuple[int, int]] | None):
        self.world, self.episode, self.steps, self.alive = world, episode, 0, True
        world.begin(episode, scattered)

    def step(self, action: int) -> tuple[np.ndarray, float, bool]:
        """Returns what is seen on arrival, the reward and whether the episode ended; `begin_next` has to follow."""
        reward, ended = self.world.act(action)
        self.steps += 1
        if self.steps == self.world.time_limit:
            ended = True
        return self.world.look(), reward if self.alive else 0.0, ended

    def begin_next(self, scattered: list[tuple[int, int]] | None) -> None:
        self.episode, self.steps = self.episode + 1, 0
        if self.episode == self.world.episodes:
            self.alive = False
        self.world.begin(self.episode, scattered)
