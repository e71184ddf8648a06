"""A private D-Bus, and clients of it that may send anything: the wire protocol, as far as tests need it."""
import os
import socket
import struct
import subprocess
import threading

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY, DESTINATION, SENDER, SIGNATURE = range(1, 9)
FIELDS = {PATH: "o", INTERFACE: "s", MEMBER: "s", ERROR_NAME: "s", REPLY: "u", DESTINATION: "s", SENDER: "s", SIGNATURE: "g"}
NUMBERS = {"y": "B", "b": "I", "u": "I", "i": "i", "t": "Q"}
# As the system bus of distributions: anybody may send signals, calls go to those who allow them, root owns names.
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/><allow send_destination="org.freedesktop.systemd1"/></policy>
<policy user="root"><allow own="org.freedesktop.systemd1"/></policy></busconfig>
"""


def split(signature):
    """The complete types of a signature."""
    found = []
    while signature:
        length = 1
        while signature[length - 1] == "a":
            length += 1
        if signature[length - 1] in "({":
            depth = 1
            while depth:
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[length], 0)
                length += 1
        found.append(signature[:length])
        signature = signature[length:]
    return found


def boundary(kind):
    return {"y": 1, "g": 1, "v": 1, "t": 8, "(": 8, "{": 8}.get(kind[0], 4)


def put(out, kind, value):
    """Append a value; strings may be bytes, valid or not."""
    out += bytes(-len(out) % boundary(kind))
    if kind in NUMBERS:
        out += struct.pack("<" + NUMBERS[kind], value)
    elif kind in "so":
        value = value if isinstance(value, bytes) else value.encode()
        out += struct.pack("<I", len(value)) + value + b"\0"
    elif kind == "g":
        out += bytes([len(value)]) + value.encode() + b"\0"
    elif kind == "v":
        put(out, "g", value[0])
        put(out, value[0], value[1])
    elif kind[0] == "a":
        out += bytes(4)
        at = len(out)
        out += bytes(-len(out) % boundary(kind[1:]))
        start = len(out)
        for item in value.items() if isinstance(value, dict) else value:
            put(out, kind[1:], item)
        struct.pack_into("<I", out, at - 4, len(out) - start)
    else:
        for part, item in zip(split(kind[1:-1]), value):
            put(out, part, item)


def get(data, at, kind):
    """A value and what is behind it."""
    at += -at % boundary(kind)
    if kind in NUMBERS:
        form = "<" + NUMBERS[kind]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if kind in "so":
        length = struct.unpack_from("<I", data, at)[0]
        return data[at + 4:at + 4 + length].decode(), at + 5 + length
    if kind == "g":
        return data[at + 1:at + 1 + data[at]].decode(), at + 2 + data[at]
    if kind == "v":
        inner, at = get(data, at, "g")
        return get(data, at, inner)
    if kind[0] == "a":
        length, at = get(data, at, "u")
        at += -at % boundary(kind[1:])
        end, items = at + length, []
        while at < end:
            item, at = get(data, at, kind[1:])
            items.append(item)
        return items, at
    items = []
    for part in split(kind[1:-1]):
        item, at = get(data, at, part)
        items.append(item)
    return tuple(items), at


class Client:
    """A connection. Who needs answers to calls of others overrides answer(); it is called by a thread."""

    def __init__(self, path):
        self.lock, self.serial, self.replies, self.arrived = threading.Lock(), 0, {}, threading.Condition()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert self.socket.recv(512).startswith(b"OK")
        self.socket.sendall(b"BEGIN\r\n")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        self.name = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")[0]

    def send(self, kind, fields, signature="", values=()):
        body, head = bytearray(), bytearray()
        for part, value in zip(split(signature), values):
            put(body, part, value)
        with self.lock:
            self.serial += 1
            serial = self.serial
            if signature:
                fields = dict(fields, **{}) | {SIGNATURE: signature}
            put(head, "(yyyyuu)", (ord("l"), kind, 0 if kind == CALL else 1, 1, len(body), serial))
            put(head, "a(yv)", [(key, (FIELDS[key], value)) for key, value in fields.items()])
            head += bytes(-len(head) % 8)
            self.socket.sendall(bytes(head + body))
        return serial

    def call(self, to, path, interface, member, signature="", values=(), timeout=10):
        serial = self.send(CALL, {PATH: path, INTERFACE: interface, MEMBER: member, DESTINATION: to}, signature, values)
        with self.arrived:
            assert self.arrived.wait_for(lambda: serial in self.replies, timeout), member
            kind, values = self.replies.pop(serial)
        if kind == ERROR:
            raise OSError("%s: %s" % (member, values))
        return values

    def signal(self, path, interface, member, signature="", values=(), to=None):
        fields = {PATH: path, INTERFACE: interface, MEMBER: member}
        self.send(SIGNAL, fields | ({DESTINATION: to} if to else {}), signature, values)

    def answer(self, sender, path, member, values):
        """Signature and values of the answer; None = there is none."""
        return None

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()

    def _whole(self, length):
        data = b""
        while len(data) < length:
            got = self.socket.recv(length - len(data))
            if not got:
                raise EOFError
            data += got
        return data

    def _read(self):
        try:
            while True:
                head = self._whole(16)
                body_bytes, serial, fields_bytes = struct.unpack_from("<II", head, 4) + struct.unpack_from("<I", head, 12)
                head += self._whole(fields_bytes + -fields_bytes % 8)
                fields = dict(get(head, 12, "a(yv)")[0])
                self._take(head[1], serial, fields, self._whole(body_bytes))
        except (EOFError, OSError):
            pass

    def _take(self, kind, serial, fields, body):
        values, at = [], 0
        for part in split(fields.get(SIGNATURE, "")):
            value, at = get(body, at, part)
            values.append(value)
        if kind in (RETURN, ERROR):
            with self.arrived:
                self.replies[fields[REPLY]] = kind, values
                self.arrived.notify_all()
        elif kind == CALL:
            answer = self.answer(fields[SENDER], fields[PATH], fields[MEMBER], values)
            if answer:
                self.send(RETURN, {REPLY: serial, DESTINATION: fields[SENDER]}, *answer)


class Bus:
    """A dbus-daemon that ends with the test."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "bus")
        with open(os.path.join(folder, "bus.conf"), "w") as file:
            file.write(CONFIG % self.path)
        self.daemon = None
        self.start()

    @property
    def address(self):
        return "unix:path=" + self.path

    def start(self):
        self.daemon = subprocess.Popen(["dbus-daemon", "--config-file=" + self.path + ".conf", "--nofork", "--nopidfile", "--print-address"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.daemon.stdout.readline()

    def stop(self):
        self.daemon.kill()
        self.daemon.wait()
        self.daemon.stdout.close()
