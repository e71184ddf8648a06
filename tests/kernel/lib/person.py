"""A real user of this machine who may use sudo, for as long as a test takes."""
import contextlib
import os
import shutil
import subprocess
import tempfile


class Person:
    """One user: a name, ids, a home that only they may enter."""

    def __init__(self, name, uid, gid, home):
        self.name, self.uid, self.gid, self.home = name, uid, gid, home

    def argv(self, *argv, sudo=False):
        """The command line that runs it as this user, or as root by their sudo."""
        words = ["runuser", "-u", self.name, "--"]
        return words + (["sudo", "-n", "--"] if sudo else []) + [str(word) for word in argv]

    def run(self, *argv, sudo=False, timeout=120, **options):
        options.setdefault("cwd", self.home)
        return subprocess.run(self.argv(*argv, sudo=sudo), stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=timeout, **options)


@contextlib.contextmanager
def person(number=1):
    """Needs root, useradd and sudo."""
    name = "hu%d-%d" % (number, os.getpid())
    rule = "/etc/sudoers.d/" + name
    above = tempfile.mkdtemp(prefix="holdup-test-")
    home = above + "/home"
    os.chmod(above, 0o755)
    try:
        subprocess.run(["useradd", "--no-log-init", "-M", "-d", home, "-s", "/bin/sh", name], check=True,
                       stdout=subprocess.DEVNULL)
        uid, gid = (int(subprocess.check_output(["id", flag, name])) for flag in ("-u", "-g"))
        os.mkdir(home, 0o700)
        os.chown(home, uid, gid)
        with open(os.open(rule, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o440), "w") as file:
            file.write("%s ALL=(ALL) NOPASSWD: ALL\n" % name)
        yield Person(name, uid, gid, home)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(rule)
        subprocess.run(["userdel", name], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(above, ignore_errors=True)
