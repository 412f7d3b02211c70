"""JupyterHub for a class on one server; TEACHING.md says how to set it up.

    jupyterhub --config /opt/pytorch-gpu-course/tools/classroom/jupyterhub_config.py

Each student is a user of the system, with files, progress and processes of their own. All use one environment, the one
in which the hub runs, and each gets the GPU that fewest others have.
"""

import sys
from pathlib import Path

COURSE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(COURSE))

from tools.classroom import gpus  # noqa: E402

# --- what you may want to change ----------------------------------------------------------------------

MEMORY = "6G"  # for each student; only where systemd runs (see the measured needs in TEACHING.md)
GPUS_EACH = 1  # GPUs that each student sees
# The part of a GPU's memory that one process may take; None: no limit. For four students to a GPU, 0.2 leaves room for
# CUDA's own needs. PyTorch takes it from 2.10 on: https://github.com/pytorch/pytorch/pull/161035
GPU_MEMORY = None
# A kernel that computes nothing for so long is ended, and with it what it holds on the GPU.
IDLE_SECONDS = 3600
STUDENTS = {"students"}  # groups of the system whose members may sign in
TEACHERS = {"teachers"}  # these may also stop others' servers, on the hub's page "Admin"

# ------------------------------------------------------------------------------------------------------

c = get_config()  # noqa: F821

if Path("/run/systemd/system").is_dir():
    from systemdspawner import SystemdSpawner as Spawner

    # `isolate_devices` would hide the GPUs: https://github.com/jupyterhub/jupyterhub/issues/2927
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.default_shell = "/bin/bash"
    c.Spawner.mem_limit = MEMORY
else:  # in a container: nothing limits a student's memory
    from jupyterhub.spawner import LocalProcessSpawner as Spawner

c.JupyterHub.spawner_class = gpus.dealing(Spawner, gpus.present(), GPUS_EACH)
c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # passwords pass through: for a network, set HTTPS up first
c.JupyterHub.cleanup_servers = False  # a restart of the hub ends nobody's work
c.LocalAuthenticator.allowed_groups = STUDENTS | TEACHERS
c.PAMAuthenticator.admin_groups = TEACHERS

START = COURSE / "tools" / "classroom" / "start_server.sh"
c.Spawner.cmd = ["/bin/sh", str(START), sys.executable, str(COURSE)]
c.Spawner.default_url = "/lab/tree/my_course/00_start_here.ipynb"
c.Spawner.start_timeout = c.Spawner.http_timeout = 120  # forty that start at once
c.Spawner.args = [
    "--KernelManager.transport=ipc",  # with TCP, every user of the machine may read what a kernel prints
    f"--MappingKernelManager.cull_idle_timeout={IDLE_SECONDS}",
    "--MappingKernelManager.cull_connected=True",  # a page that was left open would keep its kernel for ever
    f"--ServerApp.shutdown_no_activity_timeout={2 * IDLE_SECONDS}",
]
if GPU_MEMORY:
    c.Spawner.environment = {"PYTORCH_CUDA_ALLOC_CONF": f"per_process_memory_fraction:{GPU_MEMORY}"}
