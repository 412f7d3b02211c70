"""The commands that install the build of PyTorch that fits this machine, into the environment that the probes saw.

``uv`` finds the package index of each build by itself. ``python -m uv`` installs for the Python that runs it, whatever
environment is switched on.
"""

from __future__ import annotations

import re

from torch_doctor.data import screen
from torch_doctor.diagnosis import releases
from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.places import places_of
from torch_doctor.diagnosis.releases import Build
from torch_doctor.diagnosis.shells import Shell

COMPANIONS = ("torchvision", "torchaudio")  # compiled against one release of torch: all change together
GOOD_PYTHONS = ("3.13", "3.12", "3.11")  # or one of these, if it is there


def companions(e: Evidence) -> list[str]:
    """Return the installed packages that must change together with torch."""
    return [name for name in COMPANIONS if name in e.get("interpreter.packages", {})]


def has(e: Evidence, tool: str) -> bool:
    """Return whether the program `tool` is on the path."""
    return tool in e.get("interpreter.tools", [])


# --- into the environment that is there ---------------------------------------------------------------


def _uv(e: Evidence, shell: Shell) -> tuple[list[str], str]:
    """Return the commands that make the newest uv available, and how it is called: as a module of this Python, or ``uv``."""
    python, no_pip = shell.python(), "no-pip" in places_of(e)
    if no_pip and has(e, "uv"):
        return [], "uv"
    if no_pip and e.get("interpreter.ensurepip") is False:
        get_uv = "winget install astral-sh.uv" if e.os == "windows" else "pipx install uv"
        return [shell.mark + get_uv], "uv"
    before = [f"{python} -m ensurepip"] if no_pip else []
    return [*before, f"{python} -m pip install --upgrade uv"], f"{python} -m uv"


def _into_environment(e: Evidence, shell: Shell, build: Build) -> list[str]:
    """Return the commands for any environment that pip or uv may change."""
    names = ["torch", *companions(e)]
    # A local version (+cpu) satisfies `torch==2.13.0`, so uv must be told to install again.
    again = "" if e.torch == "missing" else "".join(f"--reinstall-package {name} " for name in names)
    before, uv = _uv(e, shell)
    there = f" --python {shell.python(first=False)}" if uv == "uv" else ""
    begin = f"{shell.mark if there else ''}{uv} pip install{there} --torch-backend={build.tag}"
    return [*before, f"{begin} {again}{' '.join([build.package, *names[1:]])}"]


# --- into a project, whose lock file would bring the old build back -----------------------------------


def _with_index(e: Evidence, shell: Shell, uv: str, tag: str, command: str) -> list[str]:
    """Return the commands that ask uv for the address of the index with the builds `tag`, and hand it to `command`.

    The commands of projects have no ``--torch-backend`` (astral-sh/uv#12994).
    """
    ask = f"{uv} pip compile --torch-backend={tag} --no-deps --emit-index-annotation -"
    if e.shell == "posix":
        lines = [f"torch_index=$(echo torch | {ask} | grep -o 'http.*')", command]
    else:
        lines = [f"$torch_index = ('torch' | {ask} | Select-String 'http\\S+').Matches.Value", command]
    if e.shell == "cmd":
        lines = [f'powershell -NoProfile -Command "{"; ".join(lines)}"']
    return [shell.mark + "; ".join(lines)] if shell.notebook else lines  # each `!` starts a shell of its own


def _project(e: Evidence, shell: Shell, build: Build) -> list[str]:
    """Return the commands that write the index into the project, so that later runs keep the build."""
    names = [build.package, *companions(e)]
    tool, tag = e.get("interpreter.project.tool"), build.tag
    name = f"pytorch-{tag}"
    if tool == "uv":
        return _with_index(e, shell, "uv", tag, f"uv add --index {name}=$torch_index {' '.join(names)}")
    if tool == "pixi":  # https://pixi.sh/latest/python/pytorch
        cuda = f"workspace system-requirements add cuda {(e.driver_cuda or 12000) // 1000}"
        return [f"{shell.mark}pixi {command}" for command in (cuda, "add pytorch-gpu")]
    before, uv = _uv(e, shell)
    # Without a version, poetry skips a package that the project has already.
    wanted = " ".join(one if "==" in one else f"'{one}>=0'" for one in names)
    source = f"poetry source add --priority explicit {name} $torch_index"
    added = f"poetry add --source {name} {wanted}".replace("'", '"' if e.shell == "cmd" else "'")
    return [*before, *_with_index(e, shell, uv, tag, source), shell.mark + added]


# --- into a new environment ---------------------------------------------------------------------------


def _fresh_python(e: Evidence) -> tuple[str, str]:
    """Return the folder of the new environment, and its Python."""
    home = e.get("interpreter.home", "~")
    if e.os == "windows":
        return f"{home}\\torch-env", f"{home}\\torch-env\\Scripts\\python.exe"
    return f"{home}/torch-env", f"{home}/torch-env/bin/python"


def fresh(e: Evidence, shell: Shell, build: Build) -> list[str]:
    """Return the commands that make a new environment with `build` in it, also for a notebook's kernel."""
    (place, inside), other = _fresh_python(e), build.new_python
    extra = [*companions(e), *(["ipykernel"] if shell.notebook else [])]
    wanted = f"--torch-backend={build.tag} {' '.join([build.package, *extra])}"
    python = shell.mark + shell.path(inside, first=True)
    new = f"3.{releases.NEW_PYTHON}"
    ready = [version for version in e.get("interpreter.pythons", []) if version in GOOD_PYTHONS]
    if e.get("interpreter.bits") == 32:  # uv for 32 bits would take a Python for 32 bits
        new, ready = f"cpython-{new}-{e.os}-x86_64", []
    get_uv, lines = "{} -m pip install --upgrade uv".format, []
    if has(e, "uv") or (other and not ready):  # uv brings a Python of its own
        if not has(e, "uv"):
            lines.append(get_uv(shell.python()))
        uv = shell.mark + "uv" if has(e, "uv") else f"{shell.python()} -m uv"
        lines.append(f"{uv} venv {f'--python {new} ' if other else ''}{shell.path(place)}")
        lines.append(f"{uv} pip install --python {shell.path(inside)} {wanted}")
    else:
        # Debian has ensurepip, which venv needs, in a package.
        if not other and e.get("interpreter.ensurepip") is False and e.os == "linux":
            version = re.match(r"3\.\d+", str(e.get("interpreter.python", "")))
            lines.append(f"{shell.mark}sudo apt install python{version[0] if version else '3'}-venv")
        base = f"{shell.mark}python{ready[0]}" if other else shell.python()
        lines += [
            f"{base} -m venv {shell.path(place)}",
            get_uv(python),
            f"{python} -m uv pip install {wanted}",
        ]
    if shell.notebook:
        lines.append(f"{python} -m ipykernel install --user --name torch-env")
    return lines


# --- the placeholders ---------------------------------------------------------------------------------


def install(e: Evidence, shell: Shell, build: Build) -> str:
    """Return the commands that replace the installed PyTorch by `build`."""
    places = places_of(e)
    in_project = places & {"uvproject", "poetry", "pixi"}
    commands = _project if in_project else fresh if "system-python" in places else _into_environment
    return "\n".join(commands(e, shell, build))


def _conda(e: Evidence, shell: Shell, command: str) -> str:
    """Return a command of conda for this environment."""
    if shell.notebook:
        return f"%conda {command}"
    tool = next((name for name in ("conda", "mamba", "micromamba") if has(e, name)), "conda")
    prefix = e.get("interpreter.prefix")
    active = not prefix or e.environment("CONDA_PREFIX") == prefix
    word, _, rest = command.partition(" ")
    return f"{tool} {word} {'' if active else f'--prefix {shell.path(prefix)} '}{rest}"


def _shadow(e: Evidence) -> str:
    """Return the path of the file or folder that hides torch."""
    file = str(e.get("interpreter.torch_file") or "torch.py")
    return re.sub(r"([\\/]torch)[\\/]__init__\.py$", r"\1", file)


def _rename(e: Evidence, shell: Shell) -> str:
    """Return the command that gives it another name."""
    file = _shadow(e)
    folder, mark, name = file.rpartition("\\" if e.os == "windows" else "/")
    if e.shell == "cmd":
        return f"ren {shell.path(file)} my_{name}"
    return f"{shell.mark}mv {shell.path(file)} {shell.path(f'{folder}{mark}my_{name}')}"


def _other_kernel(e: Evidence) -> str:
    """Return the commands for a terminal that make the environment with the right torch a kernel of Jupyter."""
    other = e.other_environment
    shell = Shell(e, notebook=False)
    python = shell.path(other.get("python", "python"), first=True)
    before = [] if other.get("ipykernel") else [f"{python} -m pip install ipykernel"]
    return "\n".join([*before, f"{python} -m ipykernel install --user --name torch-env"])


def _start_fresh(e: Evidence, shell: Shell) -> dict[str, object]:
    """Return the sentences that say how the new environment is used."""
    said = screen("command_line", "fresh")["notebook" if shell.notebook else "terminal"]
    said = said.format(python=shell.path(_fresh_python(e)[1], first=True))
    return {"start_fresh_en": said.en, "start_fresh_zh": said.zh}


def placeholders(e: Evidence, shell: Shell) -> dict[str, object]:
    """Return the values of the ``{placeholders}`` that install and remove packages."""
    build, older = releases.fitting(e), releases.build_here(e)
    names = " ".join(["torch", *companions(e)])
    python, uv_only = shell.python(), "no-pip" in places_of(e) and has(e, "uv")
    there = f"--python {shell.python(first=False)}"
    release, bits = e.get("interpreter.python", "?"), e.get("interpreter.bits")
    pip = f"{shell.mark}uv pip" if uv_only else f"{python} -m pip"
    builds = sorted({build.split("-")[0] for build in e.get("interpreter.conda_torch", [])}, reverse=True)
    wanted = f"{python} -m pip install torch" if e.os == "darwin" else install(e, shell, build)
    return {
        "conda_remove": _conda(e, shell, f"remove --yes {' '.join(builds or ['pytorch'])}"),
        "conda_list": _conda(e, shell, "list torch"),
        "install": wanted,
        "add_torch": wanted,  # the same, where nothing is replaced
        "install_older": install(e, shell, older) if older else "",
        "install_12_6": install(e, shell, Build(releases.package_with(e, "12.6"), "cu126")),
        "fresh": "\n".join(fresh(e, shell, build)),
        **_start_fresh(e, shell),
        "uninstall": f"{pip} uninstall {there if uv_only else '-y'} {names}",
        "pip_list": f"{pip} list {there}" if uv_only else f"{pip} list",
        "shadow": re.split(r"[\\/]", _shadow(e))[-1],
        "rename": _rename(e, shell),
        "other": Shell(e, notebook=False).path(e.other_environment.get("python", "python"), first=True),
        "other_kernel": _other_kernel(e),
        "python_release_en": f"{release}{' (32 bit)' if bits == 32 else ''}",
        "python_release_zh": f"{'32 位元 ' if bits == 32 else ''}Python {release}",
        "pythons_en": "3.{} to 3.{}".format(*releases.PYTHONS),
        "pythons_zh": "3.{} 到 3.{}".format(*releases.PYTHONS),
    }
