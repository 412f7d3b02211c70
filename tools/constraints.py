"""Write constraints.txt: the one set of versions that the course is tested with.

    make constraints            (needs network; installs `uv` into the environment where it is missing)

The result is valid on Linux, Windows and macOS and for Python 3.11 to 3.13: where a package differs between
them, the line carries a marker. Afterwards every combination is resolved once more from ready-made wheels
only, so that nobody meets a version that exists for other machines but not for theirs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH = "2.13.0"
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "windows", "aarch64-apple-darwin")
# From 4.25 on, jsonschema builds some forty parsers while it is imported, for addresses that nothing here has: 1.3 of
# JupyterLab's first seconds, and as much in every process that reads a notebook (nbformat: 1.4 s instead of 0.2).
HELD = ("jsonschema<4.25",)
OLDEST_MACOS = "14.0"  # torch has no wheels for an older one, nor for Macs with an Intel processor

# torch's own wheels pin what they bring for the GPU, and each CUDA build brings something else; pinning those
# here would shut out every build but one (CPU only, an older CUDA for an older driver, ROCm).
GPU_PARTS = re.compile(r"(nvidia|cuda|triton|pytorch-triton)[-\w]*==")

HEADER = f"""\
# The versions that this course is tested with. They exist for Linux, Windows and macOS, Python 3.11 to 3.13.
# pyproject.toml says what range should work; this file says what did. Regenerate it with
#
#     make constraints
#
# (uv pip compile --universal over pyproject.toml with torch=={TORCH}; see tools/constraints.py).
# What torch brings for the GPU (nvidia-*, triton) is left out on purpose: torch pins that itself, per build.
"""


def uv_compile(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    """Run `uv pip compile` over pyproject.toml with the `test` extra and give back the finished process."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--extra", "test", "--quiet"]
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": OLDEST_MACOS}
    return subprocess.run(
        [*command, "--no-header", "--no-annotate", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        **options,
    )


def resolve() -> list[str]:
    """Resolve pyproject.toml for every platform at once, newest versions first.

    Returns:
        Requirement lines, one per package and marker, without what torch brings for the GPU.
    Raises:
        SystemExit: nothing satisfies the ranges in pyproject.toml.
    """
    # "fewest": one version for every Python wherever one exists, so that stored outputs agree between them.
    found = uv_compile(
        *("--universal", "--upgrade", "--python-version", PYTHONS[0], "--fork-strategy", "fewest"),
        *("--constraint", "-"),
        input="\n".join([f"torch=={TORCH}", *HELD]),
    )
    if found.returncode:
        sys.exit(f"{found.stderr}\nNo set of versions fits pyproject.toml; constraints.txt is unchanged.")
    return [line for line in found.stdout.splitlines() if not GPU_PARTS.match(line)]


def without_wheels() -> list[str]:
    """Name the platforms and Pythons for which constraints.txt cannot be installed from wheels alone."""
    failed = []
    for platform in PLATFORMS:
        for python in PYTHONS:
            target = ("--python-platform", platform, "--python-version", python)
            found = uv_compile(*target, "--only-binary", ":all:", "--constraint", "constraints.txt")
            if found.returncode:
                failed.append(f"{platform}, Python {python}: {found.stderr.strip()}")
    return failed


def main() -> None:
    """Regenerate constraints.txt in place and prove it for every platform and Python."""
    if importlib.util.find_spec("uv") is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=True)
    lines = resolve()
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"constraints.txt: {len(lines)} lines")
    if failed := without_wheels():
        sys.exit("\n".join(["Not installable from wheels:", *failed]))
    print(f"Wheels exist for {', '.join(PLATFORMS)} with Python {', '.join(PYTHONS)}.")


if __name__ == "__main__":
    main()
