"""The pages in Chromium: keyboard, touch, undo, reload, offline, hostile texts, phone and desk, light and dark."""

from __future__ import annotations

import contextlib
import io
import itertools
import shutil
import time

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'kernelrank[collect]'")
pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from kernelrank.collecting import Item
from tests.collecting.clients import ask, collecting

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium and chromedriver are not installed"
)
HOSTILE = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">\u202e</p>${x}{{7*7}}"
TASK = "return document.getElementById('work').dataset.task"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Return what starts a browser."""
    browsers = []

    def start():
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"):
            options.add_argument(f"--{argument}")
        options.add_argument("--disable-background-networking")  # the profile is a new one, which chromedriver makes
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browsers.append(webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)))
        return seen_on(browsers[-1], 1400)

    yield start
    for browser in browsers:
        browser.quit()


def seen_on(browser, width, height=900, *, dark=False, touch=False):
    """Give a browser the size of a desk or a phone, a light or dark page, and perhaps fingers."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
    return browser


@pytest.fixture(scope="module")
def browser(start):
    return start()


def link(service, kind="judge"):
    host, port = service.address[:2]
    return f"http://{host}:{port}/{kind}/{service.tokens[kind]}/"


def begin(browser, service, name="Ann"):
    browser.get(link(service))
    browser.execute_script("localStorage.clear()")
    browser.get(link(service))
    browser.find_element(By.ID, "name").send_keys(name, Keys.ENTER)
    until(lambda: browser.find_element(By.ID, "work").is_displayed())


def until(what, seconds=60.0):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.03)
    return found


def press(browser, *keys):
    for key in keys:
        task = browser.execute_script(TASK)
        ActionChains(browser).send_keys(key).perform()
        if key != "p":
            until(lambda task=task: browser.execute_script(TASK) != task)


def tap(browser, button):
    """Touch a button until it has acted: where the machine is slow a tap may be taken for a long press."""
    task, end = browser.execute_script(TASK), time.monotonic() + 30.0
    while browser.execute_script(TASK) == task:
        assert time.monotonic() < end, "a tap did not act"
        finger = ActionBuilder(browser, mouse=PointerInput("touch", "finger"), duration=0)
        finger.pointer_action.move_to(button).pointer_down().pointer_up()
        finger.perform()  # in one command
        with contextlib.suppress(AssertionError):
            until(lambda: browser.execute_script(TASK) != task, 3.0)


def saved(browser):
    until(lambda: browser.find_element(By.ID, "saved").text == "Saved.")


def votes(service, kind="votes"):
    path = f"/owner/{service.tokens['owner']}/download/{kind}.csv"
    return pd.read_csv(io.BytesIO(ask(service.address, "GET", path)[2]))


def wait_for(service, n):
    """Return the votes that count once there are so many."""
    end = time.monotonic() + 30.0
    while len(found := votes(service)) < n and time.monotonic() < end:
        time.sleep(0.03)
    assert len(found) == n, votes(service, "log").to_string()
    return found


def test_a_judge_votes_by_keyboard_undoes_pauses_and_reloads(browser, tmp_path):
    with collecting(tmp_path / "votes.db", repeats=0.0) as service:
        begin(browser, service)
        shown = [browser.find_element(By.ID, side).text for side in ("left", "right")]
        press(browser, Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.SPACE)
        saved(browser)
        found = wait_for(service, 3)
        assert found["winner"].tolist() == ["left", "right", "tie"]
        assert [f"Text of {found[side][0]}" for side in ("left", "right")] == shown
        press(browser, "u")
        assert browser.find_element(By.ID, "saved").text == "Undone. Please vote again."
        before = [browser.find_element(By.ID, side).text for side in ("left", "right")]
        press(browser, Keys.ARROW_RIGHT)
        saved(browser)
        found = wait_for(service, 4)
        assert [f"Text of {found[side][3]}" for side in ("left", "right")] == before
        press(browser, "p")
        assert browser.find_element(By.ID, "pause").is_displayed()
        ActionChains(browser).send_keys(Keys.ARROW_LEFT).perform()
        press(browser, "p")
        task = browser.execute_script(TASK)
        browser.refresh()
        until(lambda: browser.find_element(By.ID, "work").is_displayed())
        assert browser.execute_script(TASK) == task
        box = browser.find_element(By.ID, "comment")
        box.send_keys("left is p, u and better")
        box.send_keys(Keys.ENTER)
        press(browser, Keys.ARROW_LEFT)
        found = wait_for(service, 5)
        assert found["comment"].tolist()[-1] == "left is p, u and better"
        assert set(found["judge"]) == {"Ann"}
        assert (found["milliseconds"] > 0).all()
        assert "5 votes" in browser.find_element(By.ID, "done").text


def test_a_judge_on_a_phone_votes_by_touch_and_withdraws(browser, tmp_path):
    with collecting(tmp_path / "votes.db", per_judge=6) as service:
        phone = seen_on(browser, 400, 800, touch=True)
        begin(phone, service, "")
        left, right = (phone.find_element(By.ID, side).rect for side in ("left", "right"))
        assert right["y"] > left["y"] + left["height"] - 1, "one above the other"
        for answer in ("left", "right", "tie", "cannot say"):
            button = phone.find_element(By.CSS_SELECTOR, f"[data-answer='{answer}']")
            rect = button.rect
            assert rect["height"] >= 44
            assert rect["y"] + rect["height"] <= 800, "the answers are in view"
            tap(phone, button)
        assert wait_for(service, 3)["winner"].tolist() == ["left", "right", "tie"]
        saved(phone)
        phone.execute_script("document.getElementById('saved').textContent = 'No connection: 12 votes are kept here.'")
        assert button.rect == rect, "nothing moves below a finger"
        assert phone.execute_script("return document.documentElement.scrollWidth") <= 400
        assert [phone.find_element(By.ID, f"{side}-label").text for side in ("left", "right")] == ["Above", "Below"]
        phone.find_element(By.ID, "withdraw").click()
        phone.switch_to.alert.accept()
        until(lambda: "withdrawn" in phone.find_element(By.ID, "end").text)
        assert len(votes(service)) == 0
        assert len(votes(service, "log")) == 5
    seen_on(browser, 1400)


def test_long_texts_are_scrolled_by_keys_that_vote_elsewhere(browser, tmp_path):
    items = [Item(f"item {n}", "text", f"Text {n}\n" * 200) for n in range(5)]
    with collecting(tmp_path / "votes.db", items) as service:
        begin(browser, service)
        left, task = browser.find_element(By.ID, "left"), browser.execute_script(TASK)
        browser.execute_script("arguments[0].focus()", left)
        ActionChains(browser).send_keys(Keys.ARROW_DOWN, Keys.SPACE).perform()
        until(lambda: left.get_property("scrollTop") > 50)
        assert browser.execute_script(TASK) == task
        press(browser, Keys.ARROW_LEFT)
        assert wait_for(service, 1)["winner"].tolist() == ["left"]


def test_votes_without_a_connection_are_sent_later_and_counted_once(browser, tmp_path):
    with collecting(tmp_path / "votes.db", repeats=0.0) as service:
        begin(browser, service)
        offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **offline})
        press(browser, Keys.ARROW_LEFT, Keys.ARROW_RIGHT)
        until(lambda: "2 votes are kept here" in browser.find_element(By.ID, "saved").text)
        assert len(votes(service)) == 0
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **offline})
        assert wait_for(service, 2)["winner"].tolist() == ["left", "right"]
        # An answer that is lost on its way: the vote is sent again.
        browser.execute_script(
            "const send = window.fetch; let first = true;"
            "window.fetch = async (...asked) => { const answer = await send(...asked);"
            "if (first) { first = false; throw new TypeError('lost'); } return answer; };"
        )
        press(browser, Keys.ARROW_DOWN)
        saved(browser)
        assert votes(service)["winner"].tolist() == ["left", "right", "tie"]
        assert len(votes(service, "log")) == 3
        # What the browser keeps is sent after a reload, too.
        browser.execute_script("window.fetch = async () => { throw new TypeError('lost'); };")
        press(browser, Keys.ARROW_RIGHT)
        until(lambda: "1 vote is kept here" in browser.find_element(By.ID, "saved").text)
        assert len(votes(service)) == 3
        browser.refresh()
        assert wait_for(service, 4)["winner"].tolist() == ["left", "right", "tie", "right"]


def test_two_judges_at_once_see_different_pairs(browser, start, tmp_path):
    with collecting(tmp_path / "votes.db", per_judge=5, repeats=0.0) as service:
        other = seen_on(start(), 800, 700)
        begin(browser, service, "Ann")
        begin(other, service, "Bob")
        shown = [
            frozenset(one.find_element(By.ID, side).text for side in ("left", "right")) for one in (browser, other)
        ]
        assert shown[0] != shown[1]
        for _ in range(4):
            press(browser, Keys.ARROW_LEFT)
            press(other, Keys.ARROW_RIGHT)
        for one in (browser, other):
            ActionChains(one).send_keys(Keys.ARROW_LEFT).perform()
            until(lambda one=one: "compared all pairs" in one.find_element(By.ID, "end").text)
        assert wait_for(service, 10).groupby("judge").size().to_dict() == {"Ann": 5, "Bob": 5}


def test_hostile_texts_are_shown_and_everything_is_named(browser, tmp_path):
    items = [Item(f"{HOSTILE} {n}", "text", f"{HOSTILE} {n}") for n in range(4)]
    browser.get_log("browser")
    with collecting(tmp_path / "votes.db", items, questions=(HOSTILE,)) as service:
        begin(browser, service, HOSTILE[:60])
        for width, dark in itertools.product((400, 1400), (False, True)):
            seen_on(browser, width, 800, dark=dark)
            check_page(browser, width, dark)
        for side in ("left", "right"):
            shown = browser.find_element(By.ID, side)
            assert HOSTILE in shown.get_property("textContent")
            assert len(shown.find_elements(By.CSS_SELECTOR, "script, img")) == 0
        press(browser, Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
        saved(browser)
        browser.get(link(service, "owner"))
        until(lambda: len(browser.find_elements(By.CSS_SELECTOR, "#boards table tbody tr")) >= 3)
        for width, dark in itertools.product((400, 1400), (False, True)):
            seen_on(browser, width, 800, dark=dark)
            check_page(browser, width, dark)
        assert HOSTILE in browser.find_element(By.ID, "boards").get_property("textContent")
        assert HOSTILE[:50] in browser.find_element(By.ID, "judges").get_property("textContent")
        assert browser.find_element(By.ID, "link").text == link(service)
        wrong = [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]
        assert [line for line in wrong if "favicon" not in line["message"]] == []
    seen_on(browser, 1400)


def check_page(browser, width, dark):
    """Check names of controls, contrast, language, headings, and that nothing is cut off."""
    assert "broken" not in browser.title.replace(HOSTILE, "")
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert len([h for h in browser.find_elements(By.TAG_NAME, "h1") if h.is_displayed()]) == 1
    for control in browser.find_elements(By.CSS_SELECTOR, "button, input, a, [tabindex], audio, img, progress, svg"):
        if control.is_displayed() and control.tag_name != "h1":
            assert control.accessible_name.strip(), control.get_attribute("outerHTML")
    colours = browser.execute_script(
        "const probe = document.createElement('p');"
        "probe.className = 'probe'; document.body.append(probe); const text = getComputedStyle(probe).color;"
        "probe.remove();"
        "return [text, matchMedia('(prefers-color-scheme: dark)').matches];"
    )
    numbers = [int(number) for number in colours[0].removeprefix("rgb(").removesuffix(")").split(",")]
    assert colours[1] == dark
    assert (min(numbers) > 200) == dark, "text is light on dark, or dark on light"
