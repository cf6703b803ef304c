"""A browser for tests of the page: Chromium, or Firefox with BROWSER=firefox. What tests of the page share."""
import os
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

FIREFOX = os.environ.get("BROWSER") == "firefox" and (shutil.which("firefox-esr") or shutil.which("firefox"))
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None
# a text that would be code if it got into the page as anything but text
HOSTILE = '</script><img src=x onerror="window.hacked=1"><!--<script>window.hacked=1</script>'


def missing():
    """Why there is no browser, "" when there is one."""
    if not webdriver:
        return "no selenium module (pip install selenium)"
    if os.environ.get("BROWSER") == "firefox":
        return "" if FIREFOX else "no firefox"
    return "" if CHROMIUM and DRIVER else "no chromium or chromedriver"


def browser(width=1280, height=1000):
    if FIREFOX:
        from marionette import Firefox
        return Firefox(FIREFOX, width, height)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for arg in ("--headless=new", "--no-sandbox", f"--window-size={width},{height}"):
        options.add_argument(arg)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def until(driver, script):
    """Waits for what a page does later by itself."""
    for _ in range(10 * tap.PATIENCE):
        if driver.execute_script(f"return {script}"):
            return True
        time.sleep(0.1)
    return False


def load(driver, page):
    driver.get(pathlib.Path(page).as_uri())
    until(driver, "!!globalThis.assay || !!document.querySelector('[role=alert]')")


def reopen(driver):
    """The page again, by the address it has now."""
    address = driver.execute_script("return location.href")
    driver.get("about:blank")
    driver.get(address)
    until(driver, "!!globalThis.assay")
    return address


def settle(driver):
    driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")


def text_of(driver, section):
    """A section's text, whichever tab is open."""
    return driver.execute_script("return document.getElementById(arguments[0]).textContent", section)


def open_tab(driver, section):
    driver.execute_script("assay.tabs.show(arguments[0])", section)


def choose(driver, name, value):
    driver.execute_script("""
        const c = document.querySelector(`[data-choice=${arguments[0]}]`);
        c.value = arguments[1];
        c.dispatchEvent(new Event("change", { bubbles: true }));""", name, value)


def console(driver):
    """Complaints since the last call; Firefox tells none this way."""
    return [] if FIREFOX else [line["message"] for line in driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]


def write(folder, name, *inputs):
    """A page: its path, whether all is well, what was said."""
    page = folder / name
    code, out, err = tap.run("report", *inputs, "--html", page)
    return page, code == 0 and not out and page.name in err, err


def span(name, cat, pid, tid, ts, dur, **args):
    """An event of a trace made by hand."""
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
