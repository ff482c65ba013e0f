"""`orexis play`: a person, or chance, walks through a lifetime in the terminal; the walk can become a GIF."""

import contextlib
import dataclasses
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from orexis.errors import OK, UsageError
from orexis.interop.environments import OrexisEnv
from orexis.interop.rendering import COLORS, as_pixels

RANDOM_EPISODES = 5
MAX_FRAMES = 4000  # of a GIF: hundreds of megabytes while it is made

_ARROWS = {
    b"\x1b[A": 0,
    b"\x1b[B": 1,
    b"\x1b[D": 2,
    b"\x1b[C": 3,
    b"\x1bOA": 0,
    b"\x1bOB": 1,
    b"\x1bOD": 2,
    b"\x1bOC": 3,
}
_LETTERS = {b"w": 0, b"s": 1, b"a": 2, b"d": 3, b"t": 4, b"y": 5, b"g": 6, b"h": 7}


@dataclasses.dataclass(frozen=True)
class Moment:
    """What there is to see before a choice, or at an episode's end."""

    signs: np.ndarray  # str[H, W]
    episode: int
    step: int
    reward: float  # of the last step
    episode_return: float
    lifetime_return: float  # of the episodes before and this one
    over: bool  # the episode ended here
    outcome: str


def play(task: str, random: bool, gif: Path | None, episodes: int | None, seed: int, actions: str = "normal") -> int:
    """Plays and returns the exit code. Raises UsageError for what can be said in one sentence."""
    try:
        env = OrexisEnv(task, actions=actions)
        spec = env.task.spec
    except (ValueError, TypeError) as error:
        raise UsageError(f"task {task} cannot be played: {error}") from error
    num_episodes = min(
        episodes or (RANDOM_EPISODES if random else spec.episodes_per_lifetime), spec.episodes_per_lifetime
    )
    if gif is not None and random and num_episodes * spec.time_limit > MAX_FRAMES:
        fitting = MAX_FRAMES // spec.time_limit
        raise UsageError(f"{num_episodes} episodes could be too long for a GIF; take --episodes {fitting} or fewer")
    console = Console(highlight=False)
    frames: list[Image.Image] = []
    last: Moment | None = None
    with contextlib.ExitStack() as stack:
        choose = random_chooser(seed, spec.num_actions) if random else stack.enter_context(keyboard(env))
        live = stack.enter_context(Live(console=console, auto_refresh=False)) if console.is_terminal else None
        for moment in walk(env, choose, num_episodes, seed, reveal=random):
            last = moment
            if live is not None:
                live.update(Group(*show(moment, spec, "" if random else _help(env))), refresh=True)
                time.sleep(0.05 if random else 0.4 if moment.over else 0.0)
            elif moment.over:
                console.print(summary(moment))
            if gif is not None and len(frames) < MAX_FRAMES:
                frames.append(draw_frame(moment, spec))
    if last is not None:
        done = last.episode + int(last.over)
        console.print(f"{done} episodes, {last.lifetime_return:+.2f} in all")
    if gif is not None:
        write_gif(gif, frames)
        console.print(f"{len(frames)} frames in {gif}", soft_wrap=True)
    return OK


def walk(
    env: OrexisEnv, choose: Callable[[], int | None], num_episodes: int, seed: int, reveal: bool
) -> Iterator[Moment]:
    """Yields every moment of `num_episodes` episodes of lifetime `seed`; ends early where `choose` returns None."""
    collected = 0.0
    for episode in range(num_episodes):
        env.reset(seed=seed if episode == 0 else None)
        total, step, over = 0.0, 0, False
        yield Moment(env.sketch(reveal), episode, 0, 0.0, 0.0, collected, False, "")
        while not over:
            action = choose()
            if action is None:
                return
            _, reward, terminated, truncated, info = env.step(action)
            total, step, over = total + reward, step + 1, terminated or truncated
            signs = env.sketch(reveal)
            yield Moment(signs, episode, step, reward, total, collected + total, over, info["outcome"])
        collected += total


def random_chooser(seed: int, num_actions: int) -> Callable[[], int]:
    """Returns a function that picks actions at random."""
    dice = np.random.default_rng(seed)
    return lambda: int(dice.integers(num_actions))


@contextlib.contextmanager
def keyboard(env: OrexisEnv) -> Iterator[Callable[[], int | None]]:
    """Gives a function that waits for a key and returns its action, or None for q; the terminal is restored after."""
    try:
        import termios
        import tty
    except ImportError as error:
        raise UsageError("keys cannot be read on this system; add --random to watch a random walk") from error
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)

    def choose() -> int | None:
        while True:
            key = read_key(file)
            if key in (b"q", b""):
                return None
            action = action_of(key, env.task.spec.num_actions, hasattr(env.task, "moves"))
            if action is not None:
                return action

    tty.setcbreak(file, termios.TCSADRAIN)  # keys typed before count
    try:
        yield choose
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def read_key(file: int) -> bytes:
    """Returns the bytes of one key press, an arrow's three together; empty at the end of input."""
    key = os.read(file, 1)
    while key.startswith(b"\x1b") and len(key) < 3 and select.select([file], [], [], 0.05)[0]:
        key += os.read(file, 1)
    return key


def action_of(key: bytes, num_actions: int, has_directions: bool) -> int | None:
    """Returns the action that a key stands for, None for none: arrows and letters, or the action's number."""
    action: int | None = int(key) if key.isdigit() else None
    if has_directions and action is None:
        action = _ARROWS.get(key, _LETTERS.get(key.lower()))
    return action if action is not None and action < num_actions else None


def show(moment: Moment, spec, hint: str) -> list[Text]:
    """Returns what the terminal shows at a moment."""
    lines = [color_signs(moment.signs), Text(caption(moment, spec))]
    return [*lines, Text(hint, style="dim")] if hint else lines


def caption(moment: Moment, spec) -> str:
    """Returns the state of the game in a line."""
    paid = f"  {moment.reward:+.2f}" if moment.reward else ""
    end = f"  {moment.outcome or 'time is up'}" if moment.over else ""
    return (
        f"episode {moment.episode + 1}/{spec.episodes_per_lifetime}  step {moment.step}/{spec.time_limit}  "
        f"total {moment.lifetime_return:+.2f}{paid}{end}"
    )


def summary(moment: Moment) -> str:
    """Returns a finished episode in a line."""
    end = moment.outcome or "time was up"
    return f"episode {moment.episode + 1}: {moment.step} steps, {moment.episode_return:+.2f}, {end}"


def color_signs(signs: np.ndarray) -> Text:
    """Returns a sketch as coloured text."""
    text = Text()
    for number, row in enumerate(signs):
        text.append("\n" if number else "")
        for sign in row:
            shown = "██" if sign == "#" else f"{sign} ".replace(". ", "· ")
            style = "bright_black" if sign in "#." else f"bold {COLORS.get(str(sign), 'white')}"
            text.append(shown, style=style)
    return text


def draw_frame(moment: Moment, spec) -> Image.Image:
    """Returns the picture of a moment, its caption below."""
    pixels = as_pixels(moment.signs)
    height, width = pixels.shape[:2]
    font = ImageFont.load_default(size=13)
    lines = caption(moment, spec).split("  ")
    half = (len(lines) + 1) // 2
    frame = Image.new("RGB", (max(width, 224), height + 40), "#FFFFFF")
    frame.paste(Image.fromarray(pixels), ((frame.width - width) // 2, 0))
    draw = ImageDraw.Draw(frame)
    for number, part in enumerate(("  ".join(lines[:half]), "  ".join(lines[half:]))):
        draw.text((4, height + 3 + 18 * number), part, fill="#222222", font=font)
    if moment.over:
        draw.rectangle((0, 0, frame.width - 1, height - 1), outline="#0072B2", width=3)
    return frame


def write_gif(path: Path, frames: list[Image.Image], milliseconds: int = 120) -> None:
    """Writes frames as an endless GIF, all with the colours of the first."""
    if not frames:
        raise UsageError("nothing was played, so there is no GIF to write")
    first = frames[0].quantize(64)
    rest = [frame.quantize(palette=first, dither=Image.Dither.NONE) for frame in frames[1:]]
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=milliseconds, loop=0)


def _help(env: OrexisEnv) -> str:
    if not hasattr(env.task, "moves"):
        return f"keys: 0 to {env.task.spec.num_actions - 1} choose an action, q ends"
    diagonals = ", t y g h diagonals" if env.task.spec.num_actions > 4 else ""
    return f"keys: arrows or w a s d{diagonals}, q ends"
