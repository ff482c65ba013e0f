"""The training tab, tasks of somebody else's and hostile names, in a real browser."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from orexis.tasks.abc import RandomABC
from orexis.viewer.curves import training_data
from orexis.viewer.lifetimes import lifetimes_data
from orexis.viewer.page import build_page
from tests.viewer.domains import DOMAINS, EXTRINSIC, LEARNED, NUMBER, SEED, learned_life, record
from tests.viewer.test_curves import curves

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = "<img src=x onerror=alert(1)>"


def test_every_logged_number_is_drawn_with_its_meaning_and_runs_lie_over_each_other(open_page):
    runs = [curves(40), dataclasses.replace(curves(30), name="runs/b")]
    runs[1].columns["policy_entropy"][:] = 0.25
    told = training_data(runs)
    opened = open_page(build_page("t", "s", record("random-abc"), told))
    opened.page.locator("#tab-training").click()
    assert not opened.page.locator("#lifetime").is_visible()
    assert opened.page.locator(".legend code").all_inner_texts() == ["runs/a", "runs/b"]
    assert opened.page.locator(".curve figcaption code").all_inner_texts() == [each["name"] for each in told["columns"]]
    assert opened.page.locator(".curve .meaning").all_inner_texts() == [each["meaning"] for each in told["columns"]]
    entropy = opened.page.locator(".curve", has=opened.page.get_by_text("policy_entropy", exact=True))
    assert entropy.locator(".value").all_inner_texts() == ["0.5", "0.25"]
    assert "Healthy on Random ABC: falls to 0.7–0.9" in entropy.inner_text()
    assert "Training warns below 0.0693" in entropy.inner_text()
    opened.page.keyboard.press("l")
    assert opened.page.locator("#lifetime").is_visible()


def test_a_run_without_a_reward_has_its_curves_alone(open_page):
    opened = open_page(build_page("t", "s", None, training_data([curves(5)])))
    assert opened.page.locator(".curve").count() > 15
    assert opened.page.locator("#tab-lifetime").is_disabled()
    opened.page.keyboard.press("l")
    assert opened.page.locator("#training").is_visible()


def test_without_runs_the_tab_says_how_to_get_them(open_page):
    opened = open_page(build_page("t", "s", record("random-abc"), training_data([])))
    opened.page.locator("#tab-training").click()
    assert "orexis view runs/" in opened.text("#training")


@dataclasses.dataclass(frozen=True)
class Somebodys(RandomABC):
    """A task of somebody else's: hostile names, signs that mean something in HTML."""

    outcomes = (HOSTILE, "B", "&amp;")

    def __post_init__(self) -> None:
        pass

    def sketch(self, params, state, reveal=False):
        signs = super().sketch(params, state, reveal)
        return np.where(signs == "A", "<", signs)


def test_hostile_names_are_shown_as_text(open_page):
    told = dataclasses.replace(LEARNED, name=HOSTILE, label=f"label {HOSTILE}")
    life = dataclasses.replace(learned_life("random-abc"), outcome=jnp.zeros(5, jnp.int32))
    lifetimes = lifetimes_data(Somebodys(episodes=5), HOSTILE, SEED, NUMBER, {told: life, EXTRINSIC: life})
    run = dataclasses.replace(curves(3), name=f"run {HOSTILE}")
    opened = open_page(build_page(HOSTILE, HOSTILE, lifetimes, training_data([run])))
    assert opened.text("#title") == HOSTILE
    assert opened.page.title() == f"{HOSTILE} · Orexis"
    assert opened.page.locator(".panel-head h2").first.inner_text() == f"label {HOSTILE}"
    assert "<" in opened.page.locator("text.letter").all_text_contents()
    opened.page.keyboard.press("r")
    assert HOSTILE in opened.text("#hidden")
    opened.page.keyboard.press("End")
    assert f"reached {HOSTILE}" in opened.text("#status")
    opened.page.keyboard.press("l")
    assert opened.page.locator(".legend code").inner_text() == f"run {HOSTILE}"
    assert opened.page.locator("img").count() == 0


def test_actions_that_are_no_directions_are_told_in_words(open_page):
    told = lifetimes_data(DOMAINS["random-abc"].task, "mine:Task", SEED, NUMBER, {LEARNED: learned_life("random-abc")})
    told["moves"], told["actions"] = None, ["wait", "jump", "run", "sit"]
    opened = open_page(build_page("t", "s", told, training_data([])))
    paid = [column[0] / told["unit"] for column in told["sources"][0]["steps"]["would_pay"]]
    items = opened.page.locator(".others li").all_inner_texts()
    assert [item.split(":")[0] for item in items] == told["actions"]
    shown = [float(item.split()[1].replace("−", "-")) for item in items]
    assert shown == pytest.approx(paid, abs=6e-4)
    assert opened.page.locator("article.panel").count() == 1


def test_three_sources_are_chosen_from(open_page):
    third = dataclasses.replace(LEARNED, name="another", label="another reward")
    life = learned_life("random-abc")
    told = lifetimes_data(
        DOMAINS["random-abc"].task, "random-abc", SEED, NUMBER, {LEARNED: life, EXTRINSIC: life, third: life}
    )
    opened = open_page(build_page("t", "s", told, training_data([])))
    opened.page.locator(".panel-head select").nth(1).select_option("2")
    assert opened.page.locator(".panel-head h2").nth(1).inner_text() == "another reward"


def test_a_source_that_cannot_be_asked_says_so(open_page):
    silent = dataclasses.replace(learned_life("random-abc"), intrinsic=None)
    told = lifetimes_data(DOMAINS["random-abc"].task, "random-abc", SEED, NUMBER, {LEARNED: silent})
    opened = open_page(build_page("t", "s", told, training_data([])))
    assert opened.page.locator(".arrow").count() == 0
    assert "not known" in opened.text(".others")
