"""A package index on this machine, with tiny wheels in place of PyTorch's.

``uv --torch-backend=cu130`` and ``pip`` know the addresses of their indexes by themselves. So that the very commands that
the doctor prints can be executed, a proxy on this machine answers for whatever host they ask: ``…/whl/cu130/torch/`` gets
the wheels of that build, every other address those without a label. Its certificates come from ``openssl``.
"""

import re
import shutil
import ssl
import subprocess
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FAMILIES = {  # torch → torchvision, torchaudio
    "2.13.0": ("0.28.0", "2.11.0"),
    "2.7.1": ("0.22.1", "2.7.1"),
    "2.1.2": ("0.16.2", "2.1.2"),
}
BUILDS = {  # the tags of each release
    "2.13.0": ("cpu", "cu126", "cu129", "cu130", "cu132"),
    "2.7.1": ("cpu", "cu118", "cu126", "cu128"),
    "2.1.2": ("cpu", "cu118", "cu121"),
}


def wheel(folder: Path, name: str, version: str, files: dict[str, str], needs: tuple[str, ...] = ()) -> Path:
    """Write a wheel of pure Python."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        **files,
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: made up\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"]))
    return path


def _torch(folder: Path, release: str, tag: str) -> None:
    label = f"+{tag}" if tag else ""  # the index of pip has one build, without a label
    cuda = f"{tag[2:-1]}.{tag[-1]}" if tag.startswith("cu") else None
    version = f"__version__ = '{release}{label}'\ncuda = {cuda!r}\n"
    folder.mkdir(parents=True, exist_ok=True)
    start = "from torch.version import __version__, cuda\nfrom torch import version\n"
    wheel(folder, "torch", release + label, {"torch/__init__.py": start, "torch/version.py": version})
    for name, own in zip(("torchvision", "torchaudio"), FAMILIES[release], strict=True):
        files = {f"{name}/__init__.py": f"__version__ = '{own}{label}'\n"}
        wheel(folder, name, own + label, files, (f"torch=={release}",))


def _uv(folder: Path) -> None:
    """Write a wheel of uv with its own Python files; its program starts the one that is installed here."""
    import uv

    files = {f"uv/{file.name}": file.read_text() for file in Path(uv.__file__).parent.glob("*.py")}
    files["uv-99.0.data/scripts/uv"] = f'#!/bin/sh\nexec "{uv.find_uv_bin()}" "$@"\n'
    wheel(folder, "uv", "99.0", files)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, index: "Index", *arguments: object) -> None:
        self.index = index
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        context = self.index.certificate(self.path.rsplit(":", 1)[0])
        try:
            self.connection = context.wrap_socket(self.connection, server_side=True)
        except (OSError, ssl.SSLError):
            self.close_connection = True
            return
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def do_GET(self) -> None:
        found = re.search(r"/(?:whl/(?=\w)|(?=simple))(\w+)/([\w.-]+)/?$", self.path)
        file = self.path.partition("#")[0].partition("/files/")[2]
        if file:
            self.answer((self.index.folder / file.replace("%2B", "+")).read_bytes(), "application/zip")
        elif found:
            wheels = sorted((self.index.folder / found[1]).glob(f"{found[2].replace('-', '_')}-*.whl"))
            links = [f'<a href="/files/{found[1]}/{path.name}">{path.name}</a>' for path in wheels]
            self.answer("\n".join(links).encode(), "text/html", 200 if wheels else 404)
        else:
            self.answer(b"", "text/plain", 404)

    do_HEAD = do_GET

    def answer(self, body: bytes, kind: str, status: int = 200) -> None:
        self.index.asked.append(self.path)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Index:
    """The server, and the environment variables with which every tool asks it.

    Attributes:
        folder: The wheels: ``cu130/torch-2.13.0+cu130-py3-none-any.whl``, ``simple/uv-99.0-py3-none-any.whl``.
        asked: The paths that were asked for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, []  # type: tuple[Path, list[str]]
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        for release, tags in BUILDS.items():
            for tag in tags:
                _torch(folder / tag, release, tag)
            _torch(folder / "simple", release, "")
        _uv(folder / "simple")
        arguments = ["install", "--user", "--name", "torch-env"]
        files = {
            "ipykernel/__init__.py": "",
            "ipykernel/__main__.py": f"import sys\nassert sys.argv[1:] == {arguments}\n",
        }
        wheel(folder / "simple", "ipykernel", "99.0", files)
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                      "-subj", "/CN=made up", "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip
        self._openssl(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "host.key"
        )
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=60)

    def certificate(self, host: str) -> ssl.SSLContext:
        """Return the TLS settings of `host`, with a certificate that :attr:`variables` let the tools believe."""
        with self._lock:
            if host not in self._contexts:
                (self.folder / f"{host}.ext").write_text(
                    f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\n"
                )
                self._openssl(
                    "req", "-new", "-key", "host.key", "-subj", f"/CN={host}", "-out", f"{host}.csr"
                )
                self._openssl("x509", "-req", "-in", f"{host}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
                              "-CAcreateserial", "-extfile", f"{host}.ext", "-out", f"{host}.pem")  # fmt: skip
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.folder / f"{host}.pem", self.folder / "host.key")
                self._contexts[host] = context
            return self._contexts[host]

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of the tools that shall see this index and no other."""
        proxy, authority = f"http://127.0.0.1:{self.server.server_port}", str(self.folder / "ca.pem")
        return {"HTTPS_PROXY": proxy, "https_proxy": proxy, "SSL_CERT_FILE": authority, "PIP_CERT": authority, "REQUESTS_CA_BUNDLE": authority,
                "PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_PYTHON_DOWNLOADS": "never"}  # fmt: skip

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def can_serve() -> str:
    """Return why an index cannot be served here, or ``""``."""
    if not shutil.which("openssl"):
        return "needs openssl"
    try:
        import uv  # noqa: F401
    except ImportError:
        return "needs uv"
    return ""
