"""Installs what the run needs into target/interop, once per set of pins. Uses the standard library only."""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

INTEROP = Path(__file__).resolve().parents[1]
ROOT = INTEROP.parents[1]
TARGET = ROOT / "target" / "interop"
VENV = TARGET / "venv"
NPM = TARGET / "npm"

NPM_FILES = ("package.json", "package-lock.json", ".npmrc")


def python() -> Path:
    """The Python of the virtual environment."""
    requirements = INTEROP / "requirements.txt"
    stamp = _stamp(requirements, extra=sys.version)
    if _is_stale(VENV, stamp):
        print("installing the Python packages ...", flush=True)
        shutil.rmtree(VENV, ignore_errors=True)
        venv.create(VENV, with_pip=True)
        pip = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--requirement", requirements])
        _mark(VENV, stamp)
    return VENV / "bin" / "python"


def node_modules() -> Path:
    """The folder with the npm packages. `node_modules/.bin` holds a Node that is new enough for all of them."""
    sources = [INTEROP / name for name in NPM_FILES]
    stamp = _stamp(*sources)
    if _is_stale(NPM, stamp):
        print("installing the npm packages ...", flush=True)
        shutil.rmtree(NPM, ignore_errors=True)
        NPM.mkdir(parents=True)
        for source in sources:
            shutil.copy(source, NPM / source.name)
        _run(["npm", "ci", "--no-progress", "--loglevel=error"], cwd=NPM)
        _mark(NPM, stamp)
    return NPM / "node_modules"


def node() -> Path:
    """The pinned Node."""
    return node_modules() / ".bin" / "node"


def script(source: Path) -> Path:
    """Puts a script where Node finds its packages: Node looks for them from the place of the script upwards."""
    node_modules()
    target = NPM / source.name
    shutil.copy(source, target)
    return target


def _stamp(*files: Path, extra: str = "") -> str:
    digest = hashlib.sha256(extra.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _is_stale(folder: Path, stamp: str) -> bool:
    mark = folder / ".stamp"
    return not mark.is_file() or mark.read_text() != stamp


def _mark(folder: Path, stamp: str) -> None:
    (folder / ".stamp").write_text(stamp)


def _run(command: list[str | Path], cwd: Path | None = None) -> None:
    ended = subprocess.run([str(part) for part in command], cwd=cwd, stdout=sys.stderr)
    if ended.returncode != 0:
        sys.exit(f"could not install: {' '.join(str(part) for part in command)}")
