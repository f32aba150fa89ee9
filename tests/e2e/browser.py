"""A headless Chromium that loads pages of causalctl, by the DevTools protocol over a pipe (its file
descriptors 3 and 4, messages of JSON that end with a zero byte)."""

import json
import os
import select
import shutil
import subprocess
import time

WAIT_S = 60


def path():
    """Returns the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """REQUIRES: path() is not None. `profile` is a folder for the browser's own files."""

    def __init__(self, profile, width=1400, height=900):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # Descriptors 3 and 4 must be the browser's, whatever numbers the pipes have here.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", path(), "--headless=new",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}",
             f"--window-size={width},{height}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._events = []
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._call("Target.attachToTarget",
                                   {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def _message(self):
        deadline = time.monotonic() + WAIT_S
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium says nothing for {WAIT_S} s")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise ConnectionError(f"Chromium has ended with {self._process.wait()}")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _call(self, method, parameters=None, **more):
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters or {}, **more}
        os.write(self._write, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._events.append(message)

    def call(self, method, **parameters):
        """Calls a method of the page."""
        return self._call(method, parameters, sessionId=self._session)

    def run(self, script):
        """Returns the value of an expression in the page, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, (script, result["exceptionDetails"])
        return result["result"].get("value")

    def wait(self, condition):
        """Waits until an expression is true in the page, and returns its value."""
        deadline = time.monotonic() + WAIT_S
        while not (value := self.run(condition)):
            assert time.monotonic() < deadline, f"never true: {condition}"
            time.sleep(0.03)
        return value

    def load(self, file):
        """Loads a file and returns after how many seconds it had been loaded and drawn."""
        self.call("Page.navigate", url="about:blank")  # or the next wait might see this file as it was
        self.wait("location.href === 'about:blank'")
        begin = time.monotonic()
        self.call("Page.navigate", url=f"file://{file}")
        self.wait(f"location.pathname === {json.dumps(str(file))} && document.readyState === 'complete'")
        self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        return time.monotonic() - begin

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            text = {"text": name} if kind == "keyDown" and len(name) == 1 else {}
            if kind == "keyDown" and name == "Enter":
                text = {"text": "\r"}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **text)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, element):
        """Clicks on the middle of what an expression returns."""
        x, y = self.run(f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'nearest'}});"
                        " const r = e.getBoundingClientRect();"
                        " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, element):
        x, y = self.run(f"(() => {{ const r = {element}.getBoundingClientRect();"
                        " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, whole=False):
        """Returns a PNG, in base64."""
        return self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]

    def complaints(self):
        """Returns what the console, uncaught exceptions and the network said since the last time."""
        self.run("0")
        events, self._events = self._events, []
        said = []
        for event in events:
            method, given = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                said.append(given["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled" or method == "Log.entryAdded":
                said.append(given)
            elif method == "Page.javascriptDialogOpening":
                said.append(given["message"])
            elif method == "Network.requestWillBeSent":
                if not given["request"]["url"].startswith(("file://", "about:")):
                    said.append(given["request"]["url"])
        return said
