"""Firefox for selenium without geckodriver: WebDriver's commands through Marionette, the protocol geckodriver speaks to Firefox.

A message is its length, a colon and JSON: [0, number, command, parameters] goes, [1, number, error, result] comes. Firefox writes the
port it listens on to a file of its profile."""
import json
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
from selenium.common.exceptions import JavascriptException, WebDriverException
from selenium.webdriver.common.options import ArgOptions
from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.webdriver import WebDriver

PREFS = {"marionette.port": 0, "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
         "browser.startup.homepage": "about:blank", "toolkit.telemetry.reportingpolicy.firstRun": False, "dom.disable_open_during_load": False}
NAMES = {
    Command.NEW_SESSION: "NewSession", Command.QUIT: "DeleteSession", Command.GET: "Navigate", Command.REFRESH: "Refresh", Command.SCREENSHOT: "TakeScreenshot",
    Command.W3C_EXECUTE_SCRIPT: "ExecuteScript", Command.W3C_EXECUTE_SCRIPT_ASYNC: "ExecuteAsyncScript", Command.SET_TIMEOUTS: "SetTimeouts",
    Command.FIND_ELEMENT: "FindElement", Command.FIND_ELEMENTS: "FindElements", Command.CLICK_ELEMENT: "ElementClick", Command.CLEAR_ELEMENT: "ElementClear",
    Command.SEND_KEYS_TO_ELEMENT: "ElementSendKeys", Command.GET_ELEMENT_TEXT: "GetElementText", Command.GET_ELEMENT_RECT: "GetElementRect",
    Command.W3C_GET_ACTIVE_ELEMENT: "GetActiveElement", Command.W3C_ACTIONS: "PerformActions", Command.W3C_CLEAR_ACTIONS: "ReleaseActions",
    Command.SWITCH_TO_FRAME: "SwitchToFrame", Command.SET_WINDOW_RECT: "SetWindowRect",
}


class Wire:
    """Takes the place of selenium's connection to a driver."""

    def __init__(self, firefox, width, height):
        self.folder = tempfile.TemporaryDirectory(prefix="assay-firefox-")
        profile = pathlib.Path(self.folder.name)
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in PREFS.items()))
        self.process = subprocess.Popen([firefox, "--headless", "--marionette", "--no-remote", "--profile", profile, "--width", str(width), "--height", str(height)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = tap.until(lambda: (profile / "MarionetteActivePort").exists() and (profile / "MarionetteActivePort").read_text(), "firefox does not listen")
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=tap.PATIENCE)
        self.number = 0
        self.read()  # who it is

    def read(self):
        size = b""
        while not size.endswith(b":"):
            size += self.socket.recv(1)
        left, parts = int(size[:-1]), []
        while left:
            parts.append(self.socket.recv(left))
            left -= len(parts[-1])
        return json.loads(b"".join(parts))

    def ask(self, name, parameters):
        self.number += 1
        message = json.dumps([0, self.number, f"WebDriver:{name}", parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self.read()
        if error:
            raise (JavascriptException if "javascript" in error["error"] else WebDriverException)(error["message"])
        return result

    def execute(self, command, parameters):
        parameters = {key: value for key, value in (parameters or {}).items() if key != "sessionId"}
        if command == Command.NEW_SESSION:
            return {"value": self.ask("NewSession", {})}
        result = self.ask(NAMES[command], {**parameters, **({"sandbox": None} if "script" in parameters else {})})
        return {"value": result["value"] if isinstance(result, dict) and set(result) == {"value"} else result}

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Firefox(WebDriver):
    def __init__(self, binary, width, height):
        super().__init__(command_executor=Wire(binary, width, height), options=ArgOptions())

    def quit(self):
        try:
            super().quit()
        finally:
            self.command_executor.close()
