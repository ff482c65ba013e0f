"""The figures of docs/explanation/reliability.md: runs what its table links to, counts trials and failures, writes them
into it.

python -m tests.faults.figures            all of it; a trial is one injected fault
python -m tests.faults.figures REPORT...  from reports that `pytest --junitxml=REPORT` wrote
"""

import dataclasses
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
SUMMARY = "Last full run: "
_LINK = re.compile(r"\[([\w/]+(?:\.py)?)\]\((?:\.\./)+(tests/[\w/]+\.py)\)")


@dataclasses.dataclass(frozen=True)
class Link:
    """What a row points to: one test of a file, or all of them."""

    file: str
    test: str | None

    @property
    def node(self) -> str:
        return f"{self.file}::{self.test}" if self.test else self.file


@dataclasses.dataclass
class Count:
    trials: int = 0
    failures: int = 0


def rows(page: str) -> dict[int, list[Link]]:
    """Returns what each row of the table points to, by its number."""
    found = {}
    for line in page.splitlines():
        number = re.match(r"\| (\d+) \|", line)
        if number:
            links = [Link(file, name if name.startswith("test_") else None) for name, file in _LINK.findall(line)]
            found[int(number[1])] = links
    return found


def read_reports(reports: list[Path]) -> dict[tuple[str, str], Count]:
    """Returns trials and failures by file and test. What was skipped is no trial."""
    counts: dict[tuple[str, str], Count] = {}
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            if case.find("skipped") is not None:
                continue
            name = case.get("name", "").partition("[")[0]
            count = counts.setdefault((f"{case.get('classname', '').replace('.', '/')}.py", name), Count())
            told = [int(x.get("value", "1")) for x in case.iter("property") if x.get("name") == "trials"]
            count.trials += sum(told) if told else 1
            count.failures += case.find("failure") is not None or case.find("error") is not None
    return counts


def counted(links: list[Link], counts: dict[tuple[str, str], Count]) -> Count:
    """Returns the sum over what a row points to."""
    total = Count()
    for (file, test), count in counts.items():
        if any(link.file == file and link.test in (None, test) for link in links):
            total.trials += count.trials
            total.failures += count.failures
    return total


def with_figures(page: str, counts: dict[tuple[str, str], Count], summary: str) -> str:
    """Returns the page with the last two cells of each row, and the summary, as counted."""
    links, lines = rows(page), []
    for line in page.splitlines():
        number = re.match(r"\| (\d+) \|", line)
        if number:
            total = counted(links[int(number[1])], counts)
            cells = (str(total.trials), str(total.failures)) if total.trials else ("–", "–")
            line = "|".join([*line.split("|")[:-3], *(f" {cell} " for cell in cells), ""])
        lines.append(SUMMARY + summary if line.startswith(SUMMARY) else line)
    return "\n".join(lines) + "\n"


def summarise(reports: list[Path], counts: dict[tuple[str, str], Count], links: list[Link]) -> str:
    """Returns the day and the sums over all tests that the table points to, each counted once."""
    tests = {key: count for key, count in counts.items() if counted(links, {key: count}).trials}
    total = counted(links, tests)
    suites = ElementTree.parse(reports[0]).getroot().iter("testsuite")
    day = next(suites).get("timestamp", "")[:10]
    return f"{day}, {len(tests)} tests, {total.trials} trials, {total.failures} failures."


def run_all(folder: Path) -> list[Path]:
    """Runs everything that the table points to and returns the reports."""
    links = (link for row in rows(PAGE.read_text(encoding="utf-8")).values() for link in row)
    nodes = sorted({link.node for link in links if (ROOT / link.file).exists()})
    report = folder / "report.xml"
    subprocess.run([sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *nodes], cwd=ROOT, check=False)
    return [report]


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(name) for name in arguments] or run_all(Path(folder))
        counts = read_reports(reports)
        page = PAGE.read_text(encoding="utf-8")
        links = [link for row in rows(page).values() for link in row]
        page = with_figures(page, counts, summarise(reports, counts, links))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
