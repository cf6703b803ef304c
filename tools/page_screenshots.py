#!/usr/bin/env python3
"""Pictures of the page of the recorded run, and of a job made by bench/gen_ranks.py, for docs/. Needs chromium, chromedriver and selenium.
usage: page_screenshots.py path/to/assay docs"""
import pathlib
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# The last step: its call that waited is selected, work whose scope is inferred and the end of it are in view.
ZOOM = """
const t = assay.timeline, d = assay.data, w = d.wait;
let k = 0;
for (let i = 1; i < w.n; i++)
    if (w.host[i] >= 0 && w.blocked[i] > w.blocked[k])
        k = i;
t.select(w.host[k], true);
t.show(d.start[w.host[k]] - 18e6, 24e6);
"""
SHOTS = [  # name, height, dark, what to go to or to do
    ("report-light", 800, False, ""),
    ("report-dark", 800, True, ZOOM),
    ("report-flame", 620, False, "location.hash = 'flame'"),
]
RANKS = ("report-ranks", 800, False, "location.hash = 'ranks'")
JOB = ("1024", "--steps", "12")


def shoot(page, out, height, dark, script):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for arg in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(arg)
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1280, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    driver.get(page.as_uri())
    while not driver.execute_script("return !!globalThis.assay"):
        time.sleep(0.1)
    driver.execute_script(script)
    time.sleep(0.5)
    out.write_bytes(driver.get_screenshot_as_png())
    driver.quit()


assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as tmp:
    page = pathlib.Path(tmp) / "report.html"
    subprocess.run([assay, "report", "demo/run", "--html", str(page)], check=True)
    for name, height, dark, script in SHOTS:
        shoot(page, folder / f"{name}.png", height, dark, script)
    job = pathlib.Path(tmp) / "job"
    subprocess.run([sys.executable, "bench/gen_ranks.py", job, *JOB], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([assay, "report", job, "--html", str(page)], check=True)
    name, height, dark, script = RANKS
    shoot(page, folder / f"{name}.png", height, dark, script)
