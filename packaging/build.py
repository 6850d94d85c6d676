"""Makes what people install: wheel, sdist, a folder that runs without Python, and on Debian a package of it.

Run by `dev.py build`. Everything is made under `build/`; the results lie in `dist/`. Prints a table of sizes. `chroot`
tries the Debian package in a bare Debian (packaging/try_deb.py); that needs root and is done only when it is named.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK, DIST = ROOT / "build", ROOT / "dist"
PACKAGING = ROOT / "packaging"
TOOLS = ("build", "twine", "pipx", "pyinstaller==6.22.3")
NAME = "graymatter-desktop"
SCRIPTS = {
    "start_window.py": "from gm_desktop.__main__ import main",
    "start_command.py": "from gm_engine.cli.main import main",
}
DEPENDS = (  # what the frozen folder does not hold; build chroot proves that it is all, fonts and keyboards included
    "libegl1",
    "libfontconfig1",
    "libgl1",
    "libwayland-client0",
    "libwayland-cursor0",
    "libwayland-egl1",
    "libxcb1",
    "libxkbcommon0",
)
ICON_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
VERSION = re.compile(r'__version__ = "([^"]+)"')


class BuildFailed(Exception):
    """A step did not do what it should; the message says which."""


def say(text: str) -> None:
    """One line of our own."""
    print(f"\n── {text}", flush=True)


def call(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Runs a tool. Raises `BuildFailed` when it fails."""
    parts = [str(part) for part in command]
    if subprocess.run(parts, cwd=cwd, env=env, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise BuildFailed(f"failed: {' '.join(parts[:4])}")


def version() -> str:
    """The version, from the one place where it is written."""
    match = VERSION.search((ROOT / "gm_engine" / "version.py").read_text(encoding="utf-8"))
    if match is None:
        raise BuildFailed("gm_engine/version.py has no __version__")
    return match[1]


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder: Path, *wanted: str | Path) -> Path:
    """A fresh virtual environment with `wanted` in it, as pinned; its interpreter."""
    venv.create(folder, with_pip=True, clear=True)
    python = python_of(folder)
    call(python, "-m", "pip", "install", "-q", "-c", PACKAGING / "constraints.txt", *wanted)
    return python


def build_wheel(python: Path) -> Path:
    """Wheel and sdist in `dist/`, checked by twine; the wheel."""
    say("wheel and sdist")
    shutil.rmtree(DIST, ignore_errors=True)
    call(python, "-m", "build", "--outdir", DIST, ROOT)
    files = sorted(DIST.iterdir())
    call(python, "-m", "twine", "check", "--strict", *files)
    return next(path for path in files if path.suffix == ".whl")


def try_wheel(wheel: Path, tools: Path) -> None:
    """Installs the wheel with pipx, which makes an empty environment, and runs both scripts."""
    say("the wheel, installed with pipx")
    home = WORK / "pipx"
    shutil.rmtree(home, ignore_errors=True)
    env = {**os.environ, "PIPX_HOME": str(home), "PIPX_BIN_DIR": str(home / "bin"), "PIPX_MAN_DIR": str(home / "man")}
    pins = PACKAGING / "constraints.txt"
    call(tools, "-m", "pipx", "install", "--quiet", "--python", sys.executable, f"--pip-args=-c {pins}", wheel, env=env)
    call(home / "bin" / "graymatter", "--version", cwd=WORK)
    call(home / "bin" / NAME, "--self-test", cwd=WORK, env=offscreen())


def freeze(python: Path) -> Path:
    """The folder that runs without Python; its path."""
    say("the frozen program")
    scripts = WORK / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    for name, line in SCRIPTS.items():
        (scripts / name).write_text(f"import sys\n\n{line}\n\nsys.exit(main())\n", encoding="utf-8")
    shutil.copy(PACKAGING / "pyinstaller" / "graymatter.spec", scripts)
    target = WORK / "frozen"
    folders = ("--distpath", target, "--workpath", WORK / "pyinstaller", "--noconfirm", "--log-level", "WARN")
    call(python, "-m", "PyInstaller", *folders, scripts / "graymatter.spec", cwd=scripts)
    program = target / NAME
    shutil.copy(ROOT / "LICENSE", program)
    if sys.platform == "linux":  # an interpreter built on this machine may hold what only debuggers read
        internal = program / "_internal"
        call("strip", "--strip-unneeded", *internal.glob("libpython*.so*"), *internal.glob("python3*/lib-dynload/*.so"))
    call(python, PACKAGING / "licences.py", scripts / "shipped.txt", program / "licences")
    return program


def try_frozen(program: Path) -> None:
    """All resources are there, both programs run, and the window does its main job without and with a display."""
    say("the frozen program, tried")
    resources, frozen = ROOT / "resources", program / "_internal" / "gm_resources"
    wanted = {path.relative_to(resources) for path in resources.rglob("*") if path.is_file()}
    missing = sorted(str(path) for path in wanted if not (frozen / path).is_file())
    if missing:
        raise BuildFailed(f"not shipped: {', '.join(missing)}")
    call(program / "graymatter", "--version", cwd=WORK)
    call(program / NAME, "--self-test", cwd=WORK, env=offscreen())
    if shutil.which("xvfb-run") is not None:
        env = {**os.environ, "QT_QPA_PLATFORM": "xcb"}
        call("xvfb-run", "--auto-servernum", program / NAME, "--self-test", cwd=WORK, env=env)


def offscreen() -> dict[str, str]:
    """An environment in which no display is needed."""
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen"}


def size_table(program: Path) -> None:
    """Prints what the folder is made of, largest first, and what was left out."""
    inside = program / "_internal"
    sizes: dict[str, int] = {}
    for path in program.rglob("*"):
        if path.is_file() and not path.is_symlink():
            part = path.relative_to(inside).parts[0] if path.is_relative_to(inside) else "programs"
            part = part.split(".libs")[0].split("-")[0] if ".libs" in part or ".dist" in part else part
            sizes[part] = sizes.get(part, 0) + path.stat().st_size
    total = sum(sizes.values())
    ordered = sorted(sizes.items(), key=lambda each: -each[1])
    say(f"{total / 1e6:.0f} MB in all")
    for part, size in ordered[:14]:
        print(f"{size / 1e6:8.1f} MB  {part}")
    print(f"{sum(size for _, size in ordered[14:]) / 1e6:8.1f} MB  {len(ordered) - 14} smaller parts", flush=True)
    spec = (PACKAGING / "pyinstaller" / "graymatter.spec").read_text(encoding="utf-8")
    left_out = re.search(r"LEFT_OUT = \[(.*?)\]", spec, re.DOTALL)
    names = re.findall(r"[\w.]+", left_out[1]) if left_out is not None else []
    print("left out:", *names, flush=True)


def debian_package(program: Path, python: Path) -> Path:
    """A `.deb` of the frozen program with menu entry, icons, metainfo and the file type; its path."""
    say("the Debian package")
    tree = WORK / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    lib = tree / "usr" / "lib" / NAME
    shutil.copytree(program, lib, symlinks=True)
    links = tree / "usr" / "bin"
    links.mkdir(parents=True)
    for name in (NAME, "graymatter"):
        (links / name).symlink_to(f"../lib/{NAME}/{name}")
    share = tree / "usr" / "share"
    for source, target in (
        ("graymatter-desktop.desktop", "applications/graymatter-desktop.desktop"),
        ("graymatter-desktop.metainfo.xml", "metainfo/graymatter-desktop.metainfo.xml"),
        ("graymatter-desktop.xml", "mime/packages/graymatter-desktop.xml"),
        ("copyright", f"doc/{NAME}/copyright"),
    ):
        path = share / target
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (PACKAGING / "linux" / source).read_text(encoding="utf-8")
        path.write_text(text.replace("@VERSION@", version()), encoding="utf-8")
    (share / "doc" / NAME / "THIRD_PARTY.md").symlink_to(f"../../../lib/{NAME}/licences/THIRD_PARTY.md")
    call(python, PACKAGING / "linux" / "icons.py", share / "icons" / "hicolor", *map(str, ICON_SIZES), env=offscreen())
    for checker, path in (
        ("desktop-file-validate", share / "applications" / "graymatter-desktop.desktop"),
        ("appstreamcli", share / "metainfo" / "graymatter-desktop.metainfo.xml"),
    ):
        if shutil.which(checker) is None:
            raise BuildFailed(f"{checker} is not installed: apt-get install desktop-file-utils appstream")
        call(checker, *(("validate", "--no-net") if checker == "appstreamcli" else ()), path)
    return _pack(tree)


def _pack(tree: Path) -> Path:
    installed_kb = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout
    control = tree / "DEBIAN" / "control"
    control.parent.mkdir()
    text = (PACKAGING / "linux" / "control").read_text(encoding="utf-8")
    for key, value in (
        ("@VERSION@", version()),
        ("@ARCHITECTURE@", architecture.strip()),
        ("@SIZE@", str(installed_kb)),
        ("@DEPENDS@", ", ".join((f"libc6 (>= {platform.libc_ver()[1]})", *DEPENDS))),
    ):
        text = text.replace(key, value)
    control.write_text(text, encoding="utf-8")
    target = DIST / f"{NAME}_{version()}_{architecture.strip()}.deb"
    call("dpkg-deb", "--build", "--root-owner-group", "-Zxz", "-z1", tree, target)
    return target


def build(wanted: set[str]) -> None:
    """Builds and tries what is wanted. Raises `BuildFailed`."""
    tools = make_environment(WORK / "tools", *TOOLS)
    wheel = build_wheel(tools)
    if "wheel" in wanted:
        try_wheel(wheel, tools)
    if wanted & {"frozen", "deb"}:
        call(tools, "-m", "pip", "install", "-q", "-c", PACKAGING / "constraints.txt", wheel)
        program = freeze(tools)
        size_table(program)
        try_frozen(program)
        if "deb" in wanted:
            debian_package(program, tools)


def main(arguments: Sequence[str]) -> int:
    """Builds what `arguments` name (`wheel`, `frozen`, `deb`), or all that can be built; `chroot` tries the `.deb`."""
    wanted = set(arguments) or {"wheel", "frozen", *(("deb",) if shutil.which("dpkg-deb") else ())}
    WORK.mkdir(exist_ok=True)
    try:
        if wanted != {"chroot"}:
            build(wanted)
        if "chroot" in wanted:
            package = next(DIST.glob("*.deb"), None)
            if package is None:
                raise BuildFailed("there is no package in dist/: build deb first")
            call(sys.executable, PACKAGING / "try_deb.py", package)
    except BuildFailed as error:
        print(error, file=sys.stderr)
        return 1
    say("built")
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.relative_to(ROOT)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
