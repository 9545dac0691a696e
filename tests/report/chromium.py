"""A browser that tests look at a report with."""

import json
import shutil
import time
from contextlib import contextmanager

from selenium import webdriver

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE, DESKTOP = 390, 1280
SECONDS = 120  # to draw everything, on a machine that is busy with other things


class Chromium:
    def __init__(self, driver):
        self.driver = driver

    def open(self, path, width=DESKTOP, scheme="light"):
        """Load the page, and wait until all is drawn."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.prefer(scheme)
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(path.as_uri())
        self.wait(lambda: self.js("return document.documentElement.dataset.drawn") == "all")

    def wait(self, until):
        end = time.monotonic() + SECONDS
        while not until():
            assert time.monotonic() < end, self.complaints()
            time.sleep(0.02)

    def prefer(self, scheme):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def js(self, code, *args):
        return self.driver.execute_script(code, *args)

    def drawn(self, chart, what):
        """Of the chart as plotly has it."""
        return self.js(f"return document.getElementById(arguments[0]).{what}", chart)

    def click(self, selector):
        self.js("document.querySelector(arguments[0]).click()", selector)

    def table(self, name):
        """The texts of a table's body."""
        return self.js(
            "return [...document.getElementById(arguments[0]).tBodies[0].rows]"
            ".map(row => [...row.cells].map(cell => cell.textContent))",
            name,
        )

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self, page):
        """Every address that was asked for, but for the page itself and pictures that are data."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        assert page.as_uri() in urls  # the log is on
        return [url for url in urls if url != page.as_uri() and not url.startswith("data:")]


@contextmanager
def started():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield Chromium(driver)
    finally:
        driver.quit()
