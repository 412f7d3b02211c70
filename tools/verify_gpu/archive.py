"""The archive of a run: what it holds, how it is made, and when it is refused."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

from tools.notebook_file import NOTEBOOKS, ROOT, code_hash
from torch_doctor.diagnosis.privacy import clean

FORMAT = 1
MANIFEST = "manifest.json"
GPU, REHEARSAL = "gpu", "rehearsal"
# Below notebooks/: what decides about what is measured.
LESSONS = ("*.ipynb", "workers/*.py", "workers/*/*.py")

# A row of the second box of nvidia-smi: "|    0   N/A  N/A     4242      C   python train.py     400MiB |".
_PROCESS = re.compile(
    r"^([|│]\s+\d+\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?)\d+(\s+(?:C|G|C\+G|M\+C)\s+)\S.*?(\s+(?:\d+ ?MiB|N/A)\s*[|│]?)$",
    re.M,
)
_PICTURE = re.compile(r"(base64,[A-Za-z0-9+/=]+)")
_EXACT = ("evidence", "recorded", "strict")  # names of claims and numbers, in which no word may change


class Refused(Exception):
    """An archive that cannot be used for this course; the message says why and what to do."""


def fingerprints(texts: dict[str, str]) -> dict[str, Any]:
    """Return what decides whether two copies of the lessons (path below ``notebooks/`` → content) are the same code."""
    found: dict[str, Any] = {}  # of a notebook the hash of every code cell by its id, else of the whole text
    for name, text in sorted(texts.items()):
        if name.endswith(".ipynb"):
            cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
            found[name] = {cell["id"]: code_hash("".join(cell["source"])) for cell in cells}
        else:
            found[name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def on_disk(folder: Path = NOTEBOOKS) -> dict[str, Any]:
    """Return the fingerprints of the lessons as they lie in `folder`."""
    files = [file for pattern in LESSONS for file in folder.glob(pattern)]
    return fingerprints({f.relative_to(folder).as_posix(): f.read_text(encoding="utf-8") for f in files})


def committed(root: Path = ROOT) -> dict[str, Any]:
    """Return the fingerprints of the lessons as the last commit holds them; `Refused` where git cannot tell."""

    def git(*words: str) -> str:
        try:
            asked = subprocess.run(["git", *words], cwd=root, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Refused(
                f"git cannot tell what is committed in {root.name}: {error}. Take the archive in a clone of the course."
            ) from None
        return asked.stdout.decode("utf-8")

    names = git("ls-tree", "-r", "--name-only", "HEAD", "notebooks/").splitlines()
    lessons = [name for name in names if any(PurePosixPath(name).match(f"notebooks/{p}") for p in LESSONS)]
    return fingerprints({name.removeprefix("notebooks/"): git("show", f"HEAD:{name}") for name in lessons})


def without_private(text: str) -> str:
    """Return `text` without other jobs' processes, and without names and paths of this machine and its user."""
    text = _PROCESS.sub(r"\1<id>\2<process>\3", text)
    if sys.prefix != sys.base_prefix:  # a system's Python has a prefix such as /usr, which is nobody's
        text = text.replace(sys.prefix, "<environment>")
    text = text.replace(str(ROOT), "<course>")
    # A picture is no text: a short user name may occur in its code by chance.
    return "".join(part if number % 2 else clean(part) for number, part in enumerate(_PICTURE.split(text)))


def strip(folder: Path) -> None:
    """Remove from the files in `folder` what is private: an archive may be published."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        return without_private(value) if isinstance(value, str) else value

    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.relative_to(folder).parts[0] in (*_EXACT, MANIFEST):
            continue
        raw = file.read_bytes()
        text = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode("utf-8", errors="replace")
        try:
            if file.suffix not in (".json", ".ipynb"):
                raise ValueError
            # Escaped as JSON, a path of Windows would not be found in the text.
            text = json.dumps(walk(json.loads(text)), indent=1, ensure_ascii=False) + "\n"
        except ValueError:  # other text, or JSON that was cut off
            text = without_private(text)
        raw = text.encode("utf-8")
        file.write_bytes(gzip.compress(raw, mtime=0) if file.suffix == ".gz" else raw)


def pack(folder: Path) -> Path:
    """Pack `folder` into ``folder.tar.gz`` beside it, without private data, and return that path."""
    strip(folder)
    target = folder.with_name(f"{folder.name}.tar.gz")
    part = target.with_name(f"{target.name}.part")
    with tarfile.open(part, "w:gz") as tar:
        tar.add(folder, arcname=folder.name)
    return part.replace(target)


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Write the plain files of `tar` below `folder`; `extractall` cannot refuse the others before Python 3.11.4."""
    for member in tar:
        target = (folder / member.name).resolve()
        source = tar.extractfile(member) if member.isfile() else None
        if not target.is_relative_to(folder) or not (source or member.isdir()):
            raise ValueError(f"it would write to {member.name}, which is no plain file below its folder")
        if source:
            target.parent.mkdir(parents=True, exist_ok=True)
            with source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)


def unpack(archive: Path, folder: Path) -> tuple[dict[str, Any], Path]:
    """Unpack `archive` below `folder` and return its manifest and where its files lie, or raise `Refused`."""
    try:
        with tarfile.open(archive) as tar:
            _extract(tar, folder.resolve())
        (manifest,) = folder.glob(f"*/{MANIFEST}")
        values = json.loads(manifest.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise Refused(f"{archive.name} has format {values['format']}; this course reads format {FORMAT}.")
    except (OSError, ValueError, KeyError, TypeError, tarfile.TarError) as error:
        raise Refused(
            f"{archive.name} is no archive of `python -m tools.verify_gpu` ({type(error).__name__}: {error})."
        ) from None
    return values, manifest.parent


def check(name: str, manifest: dict[str, Any], evidence: dict[str, Any], expected: dict[str, Any]) -> None:
    """Let pass only what was measured on CUDA, with the lessons that are committed (`expected`: their fingerprints)."""
    if manifest["kind"] != GPU or evidence.get("rehearsal"):
        raise Refused(f"{name} is a rehearsal: its figures are no evidence of any GPU.")
    for machine in (manifest["machine"], evidence["machine"]):
        if not machine["gpus"] or not machine["cuda"]:
            raise Refused(f"{name} was made on a machine without a CUDA GPU, so it is no evidence of one.")
    if manifest["machine"] != evidence["machine"]:
        raise Refused(f"manifest and evidence of {name} come from two different machines.")
    other = []
    for file, prints in sorted(manifest["lessons"].items()):
        mine = expected.get(file)
        if mine == prints:
            continue
        pairs = set(mine.items()) ^ set(prints.items()) if isinstance(mine, dict) else set()
        cells = sorted({cell for cell, _ in pairs})
        names = ", ".join([*cells[:6], "…"] if len(cells) > 6 else cells)
        other.append(f"{file} ({names})" if names else file)
    if other:
        raise Refused(
            f"{name} was made with other code than the last commit holds: {'; '.join(other)}."
            " Check out the commit it was made from, or run it again."
        )
