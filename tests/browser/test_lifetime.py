"""The lifetime tab in a real browser: the right cell, the right number, and every control does what it says."""

import re

import pytest

from orexis.viewer.curves import training_data
from orexis.viewer.page import build_page
from tests.viewer.domains import DOMAINS, asked, extrinsic_life, learned_life, record

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PANEL = "article.panel >> nth={}"


def page_of(name: str) -> str:
    return build_page(name, "a test", record(name), training_data([]))


def number_of(text: str) -> float:
    """Returns the number that the page shows, with or without its leading zero."""
    return float(text.replace("−", "-").replace("+", ""))


def frames(name: str) -> list[tuple[int, int, int]]:
    """Returns frame, episode and moment of every frame of the page's time line."""
    lengths = [source["episodes"]["length"] for source in record(name)["sources"]]
    rows, frame = [], 0
    for episode, longest in enumerate(max(each) for each in zip(*lengths, strict=True)):
        for moment in range(longest + 1):
            rows.append((frame, episode, moment))
            frame += 1
    return rows


@pytest.mark.parametrize("name", DOMAINS)
def test_the_agent_stands_where_it_stood_and_the_cell_has_what_was_paid(name: str, open_page):
    opened = open_page(page_of(name))
    width = record(name)["width"]
    every = frames(name)
    for frame, episode, moment in [every[0], *every[1 :: max(1, len(every) // 25)], every[-1]]:
        opened.go(frame)
        for side, life in enumerate((learned_life(name), extrinsic_life(name))):
            steps = [n for n, number in enumerate(life.trace.episode) if number == episode][:moment]
            place = life.arrivals.position[steps[-1]] if steps else life.starts.position[episode]
            panel = opened.page.locator(PANEL.format(side))
            cell = int(place[0]) * width + int(place[1])
            assert panel.locator("svg.room").get_attribute("data-cell") == str(cell)
            paid = [float(life.trace.intrinsic[step]) for step in steps]
            fact = panel.locator("[data-fact=step]").inner_text()
            assert (fact == "–") == (not paid)
            if paid:
                assert number_of(fact) == pytest.approx(paid[-1], abs=6e-4)
                shown = panel.locator("text.number.now")
                assert shown.get_attribute("data-cell") == str(cell)
                assert number_of(shown.text_content()) == pytest.approx(paid[-1], abs=0.0051)
                collected = sum(float(life.trace.extrinsic[step]) for step in steps)
                shown_sum = panel.locator("[data-fact=extrinsic]").inner_text()
                assert number_of(shown_sum) == pytest.approx(collected, abs=0.0051)


@pytest.mark.parametrize("name", DOMAINS)
def test_the_arrows_are_what_the_numpy_runtime_pays(name: str, open_page):
    opened = open_page(page_of(name))
    life, expected, seen = learned_life(name), asked(name), 0
    every = frames(name)
    for frame, episode, moment in every[:: max(1, len(every) // 25)]:
        steps = [n for n, number in enumerate(life.trace.episode) if number == episode]
        opened.go(frame)
        arrows = opened.page.locator(PANEL.format(0)).locator(".arrow")
        if moment >= len(steps):
            assert arrows.count() == 0  # the episode is over
            continue
        told = {arrow.get_attribute("data-action"): arrow for arrow in arrows.all()}
        assert sorted(told) == ["0", "1", "2", "3"]
        for action, arrow in told.items():
            title = arrow.locator("title").text_content()
            paid = float(expected[steps[moment], int(action)])
            assert number_of(re.search(r"paid (\S+)$", title).group(1)) == pytest.approx(paid, abs=1.5e-4)
            assert number_of(arrow.locator("text").text_content()) == pytest.approx(paid, abs=0.0052)
            chosen = "chosen" in arrow.get_attribute("class")
            assert chosen == (int(action) == life.trace.action[steps[moment]])
            seen += 1
    assert seen >= 40


def test_keys_step_jump_play_reveal_and_tell_themselves(open_page):
    opened = open_page(page_of("empty-rooms"))
    press = opened.page.keyboard.press
    begin = [frame for frame, _, moment in frames("empty-rooms") if moment == 0]
    last = frames("empty-rooms")[-1][0]
    for key, frame in {
        "ArrowRight": 1, "ArrowLeft": 0, "Shift+ArrowRight": begin[1], "End": last, "Home": 0,
    }.items():  # fmt: skip
        press(key)
        assert opened.frame() == frame
    press("ArrowLeft")
    assert opened.frame() == 0  # there is nothing before birth
    press("Shift+ArrowRight")
    press("ArrowRight")
    press("Shift+ArrowLeft")
    assert opened.frame() == begin[1]  # first to the episode's own start
    assert opened.page.locator(".goal").count() == 0
    press("r")
    assert opened.page.locator(".goal").count() == 2  # in both rooms
    assert "goal" in opened.text("#hidden")
    press("r")
    assert not opened.page.locator("#hidden").is_visible()
    press("+")
    assert opened.page.locator("#speed").input_value() == "8"
    press("-")
    press("-")
    assert opened.page.locator("#speed").input_value() == "2"
    press("v")
    assert opened.page.locator("article.panel:visible").count() == 1
    press("?")
    assert opened.page.locator("#help").is_visible()
    press("Escape")
    assert not opened.page.locator("#help").is_visible()


def test_it_plays_by_itself_and_pauses(open_page):
    opened = open_page(page_of("random-abc"))
    opened.page.select_option("#speed", "64")
    opened.page.locator("h1").click()
    opened.page.keyboard.press(" ")
    last = frames("random-abc")[-1][0]
    opened.page.wait_for_function("(last) => Number(document.getElementById('slider').value) === last", arg=last)
    opened.page.wait_for_selector("#play[aria-label=Play]")  # it has come to its end and stopped
    opened.page.locator("#play").click()
    opened.page.wait_for_function(
        "() => Number(document.getElementById('slider').value) > 2"
    )  # from the beginning again
    opened.page.keyboard.press(" ")
    assert opened.page.locator("#play").get_attribute("aria-label") == "Play"
    held = opened.frame()
    opened.page.wait_for_timeout(100)
    assert opened.frame() == held


def test_buttons_the_slider_and_the_number_of_an_episode(open_page):
    opened = open_page(page_of("random-abc"))
    begin = [frame for frame, _, moment in frames("random-abc") if moment == 0]
    opened.page.locator("#next-step").click()
    opened.page.locator("#next-step").click()
    opened.page.locator("#previous-step").click()
    assert opened.frame() == 1
    opened.page.locator("#next-episode").click()
    assert opened.frame() == begin[1]
    opened.page.fill("#episode", "4")
    opened.page.keyboard.press("Enter")
    assert opened.frame() == begin[3]
    box = opened.page.locator("#slider").bounding_box()
    opened.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 10)
    assert abs(opened.frame() - frames("random-abc")[-1][0] / 2) < 3
    chart = opened.page.locator(".chart canvas").first
    chart.click(position={"x": chart.bounding_box()["width"] - 8, "y": 30})
    assert opened.frame() == begin[-1]
    assert opened.text("#status").startswith("Episode 5 ·")


def test_fingers_tap_and_swipe_and_a_phone_shows_one_lifetime_without_scrolling_sideways(open_page):
    opened = open_page(page_of("key-box"), viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert opened.page.locator("article.panel:visible").count() == 1
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    room = opened.page.locator("svg.room").first
    room.tap()
    opened.page.wait_for_selector("#play[aria-label=Pause]")
    room.tap()
    opened.page.wait_for_selector("#play[aria-label=Play]")
    box = room.bounding_box()
    opened.page.mouse.move(box["x"] + 200, box["y"] + 50)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 60, box["y"] + 55)
    opened.page.mouse.up()
    assert opened.text("#status").startswith("Episode 2 ·")


def test_the_same_lifetime_side_by_side_waits_for_the_longer_episode(open_page):
    opened = open_page(page_of("random-abc"))
    lengths = [source["episodes"]["length"] for source in record("random-abc")["sources"]]
    unequal = next(episode for episode, (a, b) in enumerate(zip(*lengths, strict=True)) if a != b)
    short, long = sorted((lengths[0][unequal], lengths[1][unequal]))
    begin = next(frame for frame, episode, _ in frames("random-abc") if episode == unequal)
    opened.go(begin + short + 1)
    status = opened.text("#status")
    assert f"after {short} steps" in status
    assert (f"step {short + 1} of {long}" in status) or (f"after {long} steps" in status and long == short + 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_system_and_the_switch(scheme: str, open_page):
    opened = open_page(page_of("random-abc"), color_scheme=scheme)
    theme = opened.page.locator("html")
    assert theme.get_attribute("data-theme") == scheme
    before = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.page.locator("#theme").click()
    assert theme.get_attribute("data-theme") == {"light": "dark", "dark": "light"}[scheme]
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") != before
