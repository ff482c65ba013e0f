"""A real Chromium, and pages opened in it from files: nothing may go wrong in its console, nothing may be asked for."""

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Gives a running browser; skips with the reason where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-browser")
    place = os.environ.get("OREXIS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if place is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=list(FLAGS))
        yield browser
        browser.close()


@dataclasses.dataclass
class Opened:
    """A page, and what it complained of or asked for since it was opened."""

    page: Any
    complaints: list[str] = dataclasses.field(default_factory=list)
    requests: list[str] = dataclasses.field(default_factory=list)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def go(self, frame: int) -> None:
        """Moves the slider, as a hand does."""
        self.page.locator("#slider").evaluate(
            "(slider, frame) => { slider.value = frame; slider.dispatchEvent(new Event('input')); }", frame
        )

    def frame(self) -> int:
        """Returns which moment is shown; the slider must stand there too."""
        frame = self.page.evaluate("orexis.state.frame")
        assert self.page.locator("#slider").input_value() == str(frame)
        return frame


@pytest.fixture
def open_page(chromium, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Gives a function that writes a page to a file and opens it; at the end nothing must have gone wrong."""
    contexts, pages = [], []

    def open_text(text: str, **options: Any) -> Opened:
        place = tmp_path / f"page{len(pages)}.html"
        place.write_text(text, encoding="utf-8")
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.complaints.append(f"{message.type}: {message.text}"))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(place.as_uri())
        pages.append((opened, place.as_uri()))
        return opened

    yield open_text
    for opened, uri in pages:
        assert opened.complaints == []
        assert [url for url in opened.requests if url not in (uri, "data:,")] == []
    for context in contexts:
        context.close()
