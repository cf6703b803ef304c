#!/usr/bin/env python3
"""Pictures of the page of the bundled run, for docs/. Needs chromium, chromedriver and selenium.
usage: page_screenshots.py path/to/assay docs"""
import pathlib
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ZOOM = """
const t = assay.timeline, d = assay.data;
let k = 0;
while (!(d.start[k] > 36e6 && d.dur[k] > 60e3)) k++;
t.select(k, true);
t.show(d.start[k] - 300e3, 1200e3);
document.getElementById("timeline").scrollIntoView();
"""
SHOTS = [  # name, height, dark, script
    ("report-light", 1500, False, ""),
    ("report-dark", 1500, True, ""),
    ("report-timeline", 1060, False, ZOOM),
    ("report-tables", 1300, False, "document.getElementById('idle').scrollIntoView()"),
]


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
    driver.save_screenshot(str(out))
    driver.quit()


assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as tmp:
    page = pathlib.Path(tmp) / "report.html"
    subprocess.run([assay, "report", "demo/train.json.gz", "demo/nvidia_smi.csv", "--html", str(page)], check=True)
    for name, height, dark, script in SHOTS:
        shoot(page, folder / f"{name}.png", height, dark, script)
