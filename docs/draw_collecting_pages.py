"""Photograph the pages of `kernelrank collect` for the how-to, with votes of simulated judges.

Run: python docs/draw_collecting_pages.py    (from the repository; needs selenium, Chromium and chromedriver)
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import expit
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernelrank.collecting import Item
from tests.collecting.clients import HTTPJudge, collecting

FOLDER = Path(__file__).parent / "how_to" / "pictures"
BEGINNINGS = (
    "The bridge opened in May. People came to see it, and children were the first to cross. By evening the shops on "
    "the other side had sold out of bread.",
    "In my opinion the bridge is good, because bridges are good for people who want to cross, and also for cars, which "
    "is why I think that it is good that the town has built it.",
    "A bridge joins what a river parts. Ours took six years, two mayors and one flood.",
    "Bridges: a history. The first bridge was a tree. Then there were more trees, and then stone. This essay is about "
    "the stone ones, of which our town has one, since May.",
)
ENDS = (
    "Nobody missed the ferry, they said, and on Sunday they all stood at the old pier.",
    "I hope that there will be more bridges.",
    "My grandmother crossed it once, to be able to say so.",
)
ESSAYS = [f"{begin} {end}" for end in ENDS for begin in BEGINNINGS]


def browser_of(width: int, height: int, *, dark: bool) -> webdriver.Chrome:
    """Start Chromium with a window of this size."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    return browser


def vote(service, names: tuple[str, ...], n: int) -> None:
    """Let judges vote in turn; the last one answers at random."""
    random = np.random.default_rng(4)
    scores = random.permutation(np.linspace(-2.0, 2.0, len(ESSAYS)))
    judges = [HTTPJudge(service.address, service.tokens["judge"], name=name) for name in names]
    for _ in range(n):
        for judge in judges:
            left, right = (judge.tasks[0][side]["number"] for side in ("left", "right"))
            wins = random.random() < expit(0.0 if judge is judges[-1] else scores[left] - scores[right])
            judge.vote("tie" if random.random() < 0.08 else "left" if wins else "right")
        time.sleep(0.12)  # so that nobody is refused as too fast


def photograph(service, folder: Path, *, dark: bool = False) -> None:
    """Save pictures of the judge's page, on a desk and on a phone, and of the owner's page; if dark, on both too."""
    host, port = service.address[:2]
    links = {name: f"http://{host}:{port}/{name}/{service.tokens[name]}/" for name in ("judge", "owner")}
    for place, width, height in (("desk", 1000, 560), ("phone", 400, 800)):
        browser = browser_of(width, height, dark=dark)
        try:
            browser.get(links["judge"])
            browser.find_element(By.ID, "name").send_keys("Ann", Keys.ENTER)
            time.sleep(2.0)
            browser.save_screenshot(str(folder / f"judge_{place}.png"))
            browser.get(links["owner"])
            for _ in range(300):
                time.sleep(0.2)
                if len(browser.find_elements(By.CSS_SELECTOR, "#boards tbody tr")) == len(ESSAYS):
                    break
            height = browser.execute_script("return document.body.scrollHeight") + 16
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": place == "phone"}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            time.sleep(0.5)
            if place == "desk" or dark:
                browser.save_screenshot(str(folder / f"owner_{place}.png"))
        finally:
            browser.quit()


def main() -> None:
    """Write the pictures; with --dark and a folder, those of dark pages."""
    items = [Item(f"essay {n + 1}", "text", text) for n, text in enumerate(ESSAYS)]
    rules = {"questions": ("Which essay is clearer?",), "per_judge": 60, "until_top": 3}
    with (
        tempfile.TemporaryDirectory() as folder,
        collecting(Path(folder) / "votes.db", items, **rules) as service,
    ):
        vote(service, ("Maria", "Juhani", "Aino", "Sam"), 45)
        if "--dark" in sys.argv:
            photograph(service, Path(sys.argv[-1]), dark=True)
        else:
            photograph(service, FOLDER)


if __name__ == "__main__":
    main()
