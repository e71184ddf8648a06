"""A program in a pseudo terminal, and what a person would see on its screen.

Understands what ncurses sends to TERM=xterm, no more.
"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SEQUENCE = re.compile(r"\x1b\[([?>!]?)([0-9;]*)([@-~])|\x1b([()][A-Z0-9]|[=>78MDEHc])")


class Screen:
    """Cells, a cursor, a scrolling region."""

    def __init__(self, rows, columns):
        self.unknown = []
        self.modes = set()
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.top, self.bottom = 0, rows - 1
        self.last = " "

    def text(self):
        return ["".join(row).rstrip() for row in self.cells]

    def put(self, letter):
        if self.column >= self.columns:
            self.column = 0
            self.line_feed()
        self.cells[self.row][self.column] = letter
        self.column += 1
        self.last = letter

    def blank(self):
        return [" "] * self.columns

    def scroll(self, lines, top=None):
        top = self.top if top is None else top
        for _ in range(abs(lines)):
            if lines > 0:
                del self.cells[top]
                self.cells.insert(self.bottom, self.blank())
            else:
                del self.cells[self.bottom]
                self.cells.insert(top, self.blank())

    def line_feed(self):
        if self.row == self.bottom:
            self.scroll(1)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def erase(self, row, first, last):
        for column in range(first, min(last, self.columns)):
            self.cells[row][column] = " "

    def erase_display(self, how):
        if how == 2:
            first, last = 0, self.rows
        elif how == 0:
            self.erase(self.row, self.column, self.columns)
            first, last = self.row + 1, self.rows
        else:
            self.erase(self.row, 0, self.column + 1)
            first, last = 0, self.row
        for row in range(first, last):
            self.erase(row, 0, self.columns)

    def move(self, row, column):
        self.row = max(0, min(row, self.rows - 1))
        self.column = max(0, min(column, self.columns - 1))

    def control(self, mark, numbers, letter):
        args = [int(word or 0) for word in numbers.split(";")]
        count = max(args[0], 1)
        second = max(args[1], 1) if len(args) > 1 else 1
        row = self.cells[self.row]
        if mark == "?" and letter in "hl":
            for mode in args:
                (self.modes.add if letter == "h" else self.modes.discard)(mode)
        elif mark or letter in "mhltn":
            pass
        elif letter in "ABCD":
            down, right = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[letter]
            self.move(self.row + down * count, self.column + right * count)
        elif letter in "Hf":
            self.move(count - 1, second - 1)
        elif letter == "G":
            self.move(self.row, count - 1)
        elif letter == "d":
            self.move(count - 1, self.column)
        elif letter == "J":
            self.erase_display(args[0])
        elif letter == "K":
            self.erase(self.row, 0 if args[0] else self.column,
                       self.column + 1 if args[0] == 1 else self.columns)
        elif letter == "X":
            self.erase(self.row, self.column, self.column + count)
        elif letter == "b":
            for _ in range(count):
                self.put(self.last)
        elif letter == "@":
            row[self.column:] = ([" "] * count + row[self.column:])[:self.columns - self.column]
        elif letter == "P":
            row[self.column:] = row[self.column + count:] + [" "] * min(
                count, self.columns - self.column)
        elif letter in "LM":
            self.scroll(count if letter == "M" else -count, self.row)
        elif letter in "ST":
            self.scroll(count if letter == "S" else -count)
        elif letter == "r":
            self.top = count - 1
            self.bottom = (args[1] or self.rows) - 1 if len(args) > 1 else self.rows - 1
            self.move(0, 0)
        else:
            self.unknown.append(numbers + letter)

    def feed(self, text):
        """Returns what was not complete."""
        at = 0
        while at < len(text):
            letter = text[at]
            found = SEQUENCE.match(text, at) if letter == "\x1b" else None
            if found:
                at = found.end()
                if found.group(3):
                    self.control(*found.group(1, 2, 3))
                elif found.group(4) == "M":
                    if self.row == self.top:
                        self.scroll(-1)
                    else:
                        self.row -= 1
                continue
            if letter == "\x1b" and len(text) - at < 20:
                return text[at:]
            at += 1
            if letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.line_feed()
            elif letter == "\b":
                self.column = max(0, self.column - 1)
            elif letter == "\t":
                self.move(self.row, (self.column // 8 + 1) * 8)
            elif letter >= " ":
                self.put(letter)
        return ""


class Terminal:
    """Runs a program; .screen is what it shows."""

    def __init__(self, argv, rows=24, columns=80, env=None):
        self.screen = Screen(rows, columns)
        self.bytes = 0
        self.left = ""
        self.raw = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.master, self.slave = pty.openpty()
        self.set_size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for number in range(3):
                os.dup2(self.slave, number)
            os.execve(argv[0], argv, {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                                      **(env or {})})
        self.status = None

    def set_size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.set_size(rows, columns)

    def read(self, timeout):
        """Take what is there. Returns whether there was anything."""
        ready, _, _ = select.select([self.master], [], [], timeout)
        if not ready:
            return False
        try:
            new = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += new
        self.bytes += len(new)
        self.left = self.screen.feed(self.left + self.decoder.decode(new))
        return True

    def settle(self, quiet=0.2, timeout=10):
        """Read until nothing came for a while."""
        end = time.monotonic() + timeout
        while self.read(quiet) and time.monotonic() < end:
            pass

    def until(self, wanted, timeout=20):
        """Read until a function of the lines is true. Returns what it returned."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = wanted(self.screen.text())
            if found:
                self.settle(0.05, 1)
                return found
            self.read(0.1)
        return None

    def shows(self, text, timeout=20):
        return self.until(lambda lines: any(text in line for line in lines), timeout) is not None

    def send(self, keys):
        os.write(self.master, keys.encode())

    def kill(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=10):
        """Its exit status, negative for a signal; None when it goes on."""
        end = time.monotonic() + timeout
        while self.status is None and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            self.read(0.05)
        self.settle(0.1, 2)
        return self.status

    def is_restored(self):
        """The modes of the terminal are as before, the cursor shows, no other screen is shown."""
        return (termios.tcgetattr(self.slave) == self.before and
                not self.screen.modes & {1049, 1000, 1006, 1})

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)
