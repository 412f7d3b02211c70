# Run by the hub as the student: bring the student's copy of the course up to date, then start JupyterLab.
python=$1 course=$2
shift 2
umask 077 # homes that others may read are common
# The kernels' sockets are files; in a home with a long name, their paths exceed the 107 bytes that Linux allows.
find /tmp -maxdepth 1 -user "$(id -un)" -name 'jupyter-??????' -exec rm -rf {} +
JUPYTER_RUNTIME_DIR=$(mktemp -d /tmp/jupyter-XXXXXX)
export JUPYTER_RUNTIME_DIR
(cd "$course" && "$python" -m tools.my_course "$HOME/my_course") || echo "The copy of the course was not updated." >&2
exec "$python" -m jupyterhub.singleuser "$@"
