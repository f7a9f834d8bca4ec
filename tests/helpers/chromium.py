"""Headless Chromium for tests, by its debugging pipe."""
import base64
import json
import os
import shutil
import subprocess
import sys


class Browser:
    """Chromium with one tab; its messages are JSON texts that end in a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def take_places():  # the browser reads from 3 and writes to 4
            os.dup2(to_browser, 100)
            os.dup2(from_browser, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                 f"--user-data-dir={profile}", "--remote-debugging-pipe", "--window-size=1100,900"]
        self.process = subprocess.Popen([program, *flags], close_fds=False, preexec_fn=take_places,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.input, 1 << 16)
            if not more:
                sys.exit("the browser has ended")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, page):
        """page: an address, or the path of a file."""
        self.events.clear()
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())

    def value(self, expression):
        """Of an expression; a promise is awaited."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def screenshot(self, path):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        self.session = None
        self.ask("Browser.close")
        self.process.wait(timeout=60)


def find():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
