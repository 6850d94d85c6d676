"""Tries the Debian package where nothing else is: in a bare Debian, made with debootstrap.

    python3 packaging/dev.py build chroot

apt installs the package with what it declares, and nothing more: every library must be found, and the self-test must
pass. Then a display and a window manager are added, and somebody who is not root double-clicks `gray.db`, imports it,
skips the tour, searches, publishes and quits, without any network, by keys. Screenshots lie in `out/chroot`. Needs root
and Debian.

The script runs in name spaces of its own (`unshare`): its mounts and processes are gone when it ends, however it ends.
Mirror, suite and options of apt are those of this machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import IO

import xwd

ROOT = Path(__file__).resolve().parent.parent
WORK, OUT = ROOT / "build" / "chroot", ROOT / "out" / "chroot"
NAME = "graymatter-desktop"
MIME = "application/x-graymatter-store"
STORE = ROOT / "tests" / "fixtures" / "graymatter" / "gray.db"
INSIDE = "--inside"
DISPLAY_TOOLS = ("xvfb", "xdotool", "openbox", "shared-mime-info", "desktop-file-utils", "libglib2.0-bin")
FRAME_BUFFER = "root/Xvfb_screen0"
PERSON, HOME = "person", "/srv/person"
SCREEN = "1280x800x24"
PATIENCE_S = 180.0
QUERY = "Which discount ceiling was agreed for Blue Heron Company?"
FOUND = "Grace Lin owns the relationship"
APT_OPTION = re.compile(r"^Acquire::(Check-|http::|https::|Retries)")


class TrialFailed(Exception):
    """The package does not do what it should; the message says what."""


def say(text: str) -> None:
    """One line of our own."""
    print(f"\n── {text}", flush=True)


def said(*command: str | Path) -> str:
    """What a tool of this machine prints."""
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, check=True).stdout


def start(command: Sequence[str], output: int | IO[str]) -> subprocess.Popen[bytes]:
    """Starts a program that goes on beside us; it ends with this script's name space at the latest."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


class Debian:
    """A bare Debian in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Downloads and unpacks it, with the mirror and the options of apt that this machine has."""
        release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
        suite = release["VERSION_CODENAME"].strip('"')
        parts = said(
            "apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"
        )
        mirrors = [line.split()[0] for line in parts.splitlines() if line.split()[1:] == [suite, "main"]]
        if not mirrors:
            raise TrialFailed(f"apt has no lists of {suite} here; run apt-get update")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        log = self.folder.with_suffix(".log")
        with log.open("w") as output:
            command = ["debootstrap", "--variant=minbase", suite, str(self.folder), mirrors[0]]
            if subprocess.run(command, stdout=output, stderr=output, check=False).returncode != 0:
                raise TrialFailed(f"debootstrap failed; see {log}")
        options = [line for line in said("apt-config", "dump").splitlines() if APT_OPTION.match(line)]
        (self.folder / "etc/apt/apt.conf.d/90host").write_text("\n".join(options) + "\n")
        for kind, place in (("proc", "proc"), ("tmpfs", "dev/shm")):
            said("mount", "-t", kind, kind, self.folder / place)

    def run(self, *command: str, check: bool = True) -> str:
        """Runs a command as root; what it prints. Raises `TrialFailed` when it fails."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            ["chroot", str(self.folder), *command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise TrialFailed(f"{' '.join(command)[:100]}: {done.stdout[-2000:]}")
        return done.stdout

    def as_person(self, *command: str, display: str = "") -> list[str]:
        """The command line that runs a command as somebody who is not root, without a network."""
        env = [f"HOME={HOME}", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", f"XDG_RUNTIME_DIR={HOME}/run"]
        env.append(f"DISPLAY={display}" if display else "QT_QPA_PLATFORM=offscreen")
        inside = ["chroot", f"--userspec={PERSON}", str(self.folder), "env", "--chdir", HOME, "-i", *env, *command]
        return ["unshare", "--net", *inside]


class Desk:
    """The person, their keyboard, and what they see."""

    def __init__(self, debian: Debian, display: str) -> None:
        self._debian, self.display, self._shots = debian, display, 0
        self._colours = tomllib.loads((ROOT / "resources" / "themes" / "light.toml").read_text(encoding="utf-8"))

    def tool(self, *arguments: str) -> str:
        """xdotool; nothing when it fails, as it does while no window has the keyboard."""
        command = self._debian.as_person("xdotool", *arguments, display=self.display)
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        self.tool("key", "--clearmodifiers", "--delay", "60", *keys)

    def write(self, text: str) -> None:
        """Types."""
        self.tool("type", "--clearmodifiers", "--delay", "20", text)

    @property
    def title(self) -> str:
        """The title of the window that has the keyboard."""
        return self.tool("getactivewindow", "getwindowname")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Waits until `condition` holds."""
        begun_s = monotonic()
        while not condition():
            if monotonic() - begun_s > PATIENCE_S:
                self.shoot("gave-up")
                raise TrialFailed(f"gave up waiting until {what}; the title is {self.title!r}")
            sleep(0.2)
        print(f"{monotonic() - begun_s:6.1f} s  {what}", flush=True)

    def go(self, page: str) -> None:
        """Opens a page through the palette."""

        def is_there() -> bool:
            if not self.title.startswith(f"{page} – "):
                self.press("ctrl+k")
                self.write(page)
                self.press("Return")
                sleep(1)
            return self.title.startswith(f"{page} – ")

        self.until(is_there, f"the page {page} is open")

    def sees(self, role: str, *, least: int) -> bool:
        """Whether the window that has the keyboard shows so many pixels of a colour of the light theme."""
        said_of_it = self.tool("getactivewindow", "getwindowgeometry", "--shell")
        place = dict(re.findall(r"^(\w+)=(\d+)$", said_of_it, re.MULTILINE))
        if not {"X", "Y", "WIDTH", "HEIGHT"} <= place.keys():
            return False
        colour = self._colours["roles"][role]
        box = (int(place["X"]), int(place["Y"]), int(place["WIDTH"]), int(place["HEIGHT"]))
        return self._screen().count(self._colours["base"].get(colour, colour), box) >= least

    def shoot(self, name: str) -> None:
        """Keeps a screenshot."""
        sleep(1.0)  # for the eye only: what moves or fades comes to rest
        self._shots += 1
        self._screen().save(OUT / f"{self._shots}-{name}.png")

    def _screen(self) -> xwd.Screen:
        return xwd.read_screen(self._debian.folder / FRAME_BUFFER)


def install(debian: Debian, package: Path) -> None:
    """apt installs the package and what it declares. Every library is found, the program works, and it is offered."""
    say("apt install")
    shutil.copy(package, debian.folder / "root" / package.name)
    debian.run("apt-get", "update")
    before = set(debian.run("dpkg-query", "-W", "-f", "${Package}\n").split())
    debian.run("sh", "-c", f"cd /root && apt install -y --no-install-recommends ./{package.name}")
    added = sorted(set(debian.run("dpkg-query", "-W", "-f", "${Package}\n").split()) - before - {NAME})
    print(f"{len(added)} packages came along: {', '.join(added)}", flush=True)
    files = f"find /usr/lib/{NAME} -type f \\( -name '*.so*' -o -perm -100 \\)"
    lacking = debian.run("sh", "-c", f"LD_LIBRARY_PATH=/usr/lib/{NAME}/_internal ldd $({files}) 2>&1", check=False)
    names = sorted(set(re.findall(r"^\s*(\S+) => not found", lacking, re.MULTILINE)))
    if names:
        raise TrialFailed(f"libraries are missing: {', '.join(names)}")
    debian.run("useradd", "--create-home", "--home-dir", HOME, PERSON)
    shutil.copy(STORE, debian.folder / HOME[1:] / "gray.db")
    debian.run("install", "-d", "-m", "700", "-o", PERSON, f"{HOME}/run", f"{HOME}/vault")
    print(debian.run("graymatter", "--version"), end="", flush=True)
    command = debian.as_person(NAME, "--self-test", "--import", f"{HOME}/gray.db")
    if subprocess.run(command, check=False).returncode != 0:
        raise TrialFailed("the self-test failed")


def start_display(debian: Debian) -> Desk:
    """A display with a window manager, and what desktops read file types with."""
    say("a display")
    debian.run("apt-get", "install", "-y", "--no-install-recommends", *DISPLAY_TOOLS)
    kind = debian.run("gio", "info", "-a", "standard::content-type", f"{HOME}/gray.db")
    opener = debian.run("gio", "mime", MIME)
    if MIME not in kind or f"{NAME}.desktop" not in opener:
        raise TrialFailed(f"gray.db is not offered to the program: {kind} {opener}")
    print(f"gray.db is {MIME} and opens with {NAME}.desktop", flush=True)
    display = ":7"
    server = ["Xvfb", display, "-screen", "0", SCREEN, "-fbdir", "/root", "-ac", "-r", "-noreset"]
    server += ["-nolisten", "tcp", "-nolisten", "local"]  # no other X server of this machine can be in the way
    start(["chroot", str(debian.folder), *server], subprocess.DEVNULL)
    desk = Desk(debian, display)
    desk.until((debian.folder / "tmp/.X11-unix/X7").exists, "the X server listens")
    start(debian.as_person("openbox", display=display), subprocess.DEVNULL)
    desk.until(lambda: desk.tool("get_num_desktops").isdecimal(), "the window manager answers")
    return desk


def live_facts(debian: Debian) -> int:
    """How many facts the person's store holds, as the command line says."""
    command = debian.as_person("graymatter", "status", "--json")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return sum(each["live"] for each in json.loads(done.stdout)["agents"]) if done.returncode == 0 else 0


def use(debian: Debian, desk: Desk) -> None:
    """Double click on gray.db, import, search, publish, quit."""
    say("somebody uses it")
    output = debian.folder / "root" / "output"
    with output.open("w") as log:
        process = start(debian.as_person(NAME, f"{HOME}/gray.db", display=desk.display), log)
    desk.until(lambda: desk.title == "Import", "the window looks into gray.db")
    desk.until(lambda: desk.sees("accent", least=1500), "it offers to import")
    desk.shoot("import-offered")
    desk.press("Return")
    desk.until(lambda: live_facts(debian) > 0, "the facts are in the store")
    desk.until(lambda: desk.sees("accent", least=1500), "it says what arrived")
    desk.shoot("imported")
    desk.press("Escape")
    preferences = debian.folder / HOME[1:] / ".config" / "graymatter" / "preferences.ini"
    desk.until(lambda: preferences.is_file() and "tour=seen" in preferences.read_text(), "the tour shows")
    desk.shoot("tour")
    desk.press("Escape")
    desk.go("Memory")
    desk.shoot("memory")
    desk.go("Search")
    desk.write(QUERY)
    desk.until(lambda: desk.sees("match", least=100), "the search marks the words that it found")
    desk.shoot("search")
    desk.go("Vault")
    desk.write(f"{HOME}/vault")
    desk.press("Return")
    desk.press("ctrl+Return")
    vault = debian.folder / HOME[1:] / "vault" / "Memory"
    desk.until((vault / ".graymatter" / "manifest.json").is_file, "the vault is published")
    notes = list(vault.rglob("*.md"))
    print(f"        {len(notes)} notes", flush=True)
    if not any(FOUND in note.read_text(encoding="utf-8") for note in notes):
        raise TrialFailed("the fact is in no note")
    desk.shoot("published")
    desk.press("ctrl+q")
    desk.until(lambda: process.poll() is not None, "the window is closed")
    told = output.read_text()
    if process.returncode != 0 or "Traceback" in told:
        raise TrialFailed(f"the program ended with {process.returncode}: {told[-2000:]}")


def main(arguments: Sequence[str]) -> int:
    """Tries the package that is named; 1 with a reason when something is not as it should be."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("This needs root and debootstrap: apt-get install debootstrap", file=sys.stderr)
        return 1
    if arguments[:1] != [INSIDE]:
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
        return subprocess.run([*apart, sys.executable, __file__, INSIDE, *arguments], check=False).returncode
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    debian = Debian(WORK)
    try:
        say("a bare Debian")
        debian.make()
        install(debian, Path(arguments[1]))
        use(debian, start_display(debian))
    except TrialFailed as error:
        print(error, file=sys.stderr)
        return 1
    say(f"the package works in a bare Debian; screenshots: {OUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
