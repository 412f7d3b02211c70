"""A student of a rehearsal: signs in to the hub, starts the server, and executes lessons there, all over HTTP."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import requests
import websocket

START_SECONDS = 180
CELL_SECONDS = 900  # on a machine where all students compute at once
_VERDICT = re.compile(r'course-claim course-(\w+)"')


@dataclass
class Student:
    """A user of the hub.

    Attributes:
        hub: The hub's address.
        name: The user of the system.
        password: What the system knows.
        errors: What went wrong, in words.
        verdicts: How many claims held, by verdict.
        seconds: How long each lesson took.
    """

    hub: str
    name: str
    password: str
    errors: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    token: str = ""

    @property
    def server(self) -> str:
        """The address of the student's own server."""
        return f"{self.hub}/user/{self.name}"

    def ask(self, method: str, address: str, **options: Any) -> Any:
        """Return the answer to a request with this student's token.

        Raises:
            requests.HTTPError: The hub or the server refuses.
        """
        headers = {"Authorization": f"token {self.token}"}
        answer = requests.request(method, address, headers=headers, timeout=60, **options)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def sign_in(self) -> None:
        """Sign in with the password, as in the browser, and get a token for what follows.

        Raises:
            PermissionError: The hub does not accept the password.
        """
        browser = requests.Session()
        browser.get(f"{self.hub}/hub/login", timeout=60)
        browser.post(
            f"{self.hub}/hub/login",
            data={"username": self.name, "password": self.password, "_xsrf": browser.cookies["_xsrf"]},
            params={"next": "/hub/token"},  # not the server: that is started below
            timeout=60,
        )
        page = browser.get(f"{self.hub}/hub/token", timeout=60)
        if not page.url.endswith("/hub/token"):
            raise PermissionError(f"{self.name} cannot sign in")
        answer = browser.post(
            f"{self.hub}/hub/api/users/{self.name}/tokens",
            params={"_xsrf": browser.cookies.get("_xsrf", path="/hub/")},
            headers={"Referer": f"{self.hub}/hub/token"},
            timeout=60,
        )
        answer.raise_for_status()
        self.token = answer.json()["token"]

    def start(self) -> None:
        """Start the student's server, and wait for it.

        Raises:
            TimeoutError: It is not there in time.
        """
        self.ask("POST", f"{self.hub}/hub/api/users/{self.name}/server")
        last = time.monotonic() + START_SECONDS
        while (
            not self.ask("GET", f"{self.hub}/hub/api/users/{self.name}")["servers"].get("", {}).get("ready")
        ):
            if time.monotonic() > last:
                raise TimeoutError(f"{self.name}'s server did not start")
            time.sleep(0.5)

    def stop(self) -> None:
        """Stop the student's server."""
        self.ask("DELETE", f"{self.hub}/hub/api/users/{self.name}/server")

    def lesson(self, file: str, cells: list[str]) -> None:
        """Execute cells in a kernel of a notebook, and note what fails.

        Args:
            file: The notebook, from the student's home.
            cells: The code.
        """
        wanted = {"path": file, "name": file, "type": "notebook", "kernel": {"name": "python3"}}
        session = self.ask("POST", f"{self.server}/api/sessions", json=wanted)
        began = time.monotonic()
        try:
            address = f"{self.server}/api/kernels/{session['kernel']['id']}/channels".replace("http", "ws", 1)
            line = websocket.create_connection(
                address, header={"Authorization": f"token {self.token}"}, timeout=CELL_SECONDS
            )
            for number, code in enumerate(cells):
                for failure in self.execute(line, code):
                    self.errors.append(f"{file} [{number}] {failure}")
            line.close()
        except (OSError, websocket.WebSocketException) as error:
            self.errors.append(f"{file}: {error!r}")
        finally:
            self.seconds[file] = time.monotonic() - began
            self.ask("DELETE", f"{self.server}/api/sessions/{session['id']}")

    def execute(self, line: websocket.WebSocket, code: str) -> list[str]:
        """Return what one cell writes to stderr or raises."""
        number = uuid.uuid4().hex
        header = {
            "msg_id": number,
            "msg_type": "execute_request",
            "session": self.name,
            "username": self.name,
        }
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        message = {"header": header | {"version": "5.3"}, "parent_header": {}, "metadata": {}}
        line.send(json.dumps(message | {"content": content, "channel": "shell", "buffers": []}))
        failures: list[str] = []
        while True:
            received = line.recv()
            if isinstance(received, bytes):  # a widget's data
                continue
            got = json.loads(received)
            if got["parent_header"].get("msg_id") != number:
                continue
            kind, content = got["header"]["msg_type"], got["content"]
            if kind == "error":
                failures.append(f"{content['ename']}: {content['evalue']}")
            elif kind == "stream" and content["name"] == "stderr":
                failures.append(f"stderr: {content['text'].strip()[:300]}")
            elif kind == "display_data" or kind == "execute_result":
                self.verdicts.update(_VERDICT.findall(content["data"].get("text/html", "")))
            elif kind == "status" and content["execution_state"] == "idle":
                return failures
