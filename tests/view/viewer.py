"""What the tests of the viewer share: a server, requests by raw sockets, and a browser over its debugging pipe."""
import atexit
import base64
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
HOLDUP = os.path.realpath(os.environ.get("HOLDUP") or os.path.join(ROOT, "build/holdup"))
PATIENCE = 60  # s: of a machine that has much else to do
CACHE = tempfile.mkdtemp(prefix="holdup-view.")  # for indexes of traces that are files
ENV = dict(os.environ, XDG_CACHE_HOME=CACHE)
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)

sys.path.insert(0, os.path.join(ROOT, "tests/kernel/lib"))
from kernel import Tap  # noqa: E402,F401


@contextlib.contextmanager
def trace(name):
    """A recorded trace of tests/data in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="holdup-view.") as folder:
        with tarfile.open(os.path.join(ROOT, "tests/data", name + ".tar.gz")) as archive:
            archive.extractall(folder)  # ours
        yield os.path.join(folder, name + ".holdup")


def run(*words):
    return subprocess.run([HOLDUP, *words], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


class Server:
    """holdup view --no-open over a trace, until the end of the block."""

    def __init__(self, path, *options, **more):
        self.process = subprocess.Popen([HOLDUP, "view", "--no-open", *options, path],
                                        env=dict(ENV, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("no address: " + self.process.stderr.read())
        _, _, self.host, self.token, _ = self.url.split("/")
        self.port = int(self.host.split(":")[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGTERM):
        """Its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def raw(self, data):
        """What it answers to these bytes, until it closes."""
        with self.connect() as link:
            link.sendall(data)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while chunk := link.recv(65536):
                    answer += chunk
        return answer

    def ask(self, path, headers=(), method="GET", host=None):
        """(status, {header: value}, body) of a path as it is."""
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: " + (host or self.host), "Connection: close", *headers]
        answer = self.raw("\r\n".join([*lines, "", ""]).encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1]) if len(first.split()) > 1 else 0
        return status, {key.lower(): value for key, value in (line.split(": ", 1) for line in rest if ": " in line)}, body

    def question(self, text):
        status, _, body = self.ask("/%s/%s" % (self.token, text))
        return status, body

    def opened(self):
        """Wait until the trace is open; what 'start' says then."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            start = json.loads(self.question("start")[1])
            if start["state"] != "indexing":
                return start
            time.sleep(0.1)
        raise RuntimeError("the trace was not opened in %d s" % PATIENCE)


def in_session(session):
    """Processes of a session that have not ended; a zombie has."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % name, encoding="latin-1") as stat:
                state, _, _, of = stat.read().rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                found.append(int(name))
    return found


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """Headless Chromium, spoken to by the DevTools protocol over two pipes; no port, no library."""

    def __init__(self, width=1600, height=1000, dark=False):
        self.folder = tempfile.mkdtemp(prefix="holdup-chromium.")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                   "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", "--user-data-dir=" + self.folder, "--window-size=%d,%d" % (width, height),
                   *(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []), "about:blank"]
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (theirs_in, theirs_out), "sh", chromium(), *options],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=dict(os.environ, TMPDIR=self.folder))
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = ours_in, ours_out
        self.left, self.count, self.session, self.complaints = b"", 0, None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """It is asked to end; whoever of its session is left is killed, and none of them writes when the folder goes."""
        self.session = None
        with contextlib.suppress(RuntimeError, OSError):
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        until = time.monotonic() + PATIENCE
        while (left := in_session(self.process.pid)) and time.monotonic() < until:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.05)
        self.process.wait(PATIENCE)
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.folder)

    def message(self, seconds=PATIENCE):
        while b"\0" not in self.left:
            if not select.select([self.input], [], [], seconds)[0]:
                raise RuntimeError("the browser says nothing for %d s" % seconds)
            chunk = os.read(self.input, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self.left += chunk
        text, _, self.left = self.left.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        request = {"id": self.count, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """What a page complains about: exceptions, refusals of its policy."""
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description")
                                   or params["exceptionDetails"]["text"])
        if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            text = params["entry"]["text"] + " " + params["entry"].get("url", "")
            if "CONNECTION_REFUSED" not in text or not text.endswith("/alive"):  # a page that is open still, of a server that ended
                self.complaints.append(text)

    def open(self, url, script=True, first=None):
        """'first' is a script that runs before those of the page."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        if not script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        if first:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=first)
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    def wait(self, expression, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.value(expression):
                return True
            time.sleep(0.1)
        return False

    def ready(self):
        return self.wait("document.documentElement?.dataset.state === 'ready'")

    def click(self, selector):
        x, y = self.value("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'nearest'});"
                          "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
                          % json.dumps(selector))
        self.click_at(x, y)

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))


def skip_all(reason):
    print("1..0 # SKIP " + reason)
    sys.exit(0)
