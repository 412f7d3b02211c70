"""torchrun for one machine: the stores through which ranks find each other listen on the loopback interface only.

PyTorch's ``TCPStore`` listens on all interfaces, and whoever reaches it may write to it: it asks for no password, and
torchrun unpickles what it reads there. On one machine no other machine has to reach it (other users of the same one still can). The supervisor runs this file
instead of ``torch.distributed.run``; the ranks are clients of the same stores, so workers need no change.
"""

import runpy
import socket
import sys
from typing import Any

import torch.distributed


def use_loopback() -> None:
    """Let every store of this process listen on 127.0.0.1, and each start of the ranks have a store of its own."""
    from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler

    class LoopbackStore(torch.distributed.TCPStore):
        def __init__(self, host_name: str, port: int, *arguments: Any, **options: Any) -> None:
            if options.get("is_master"):
                listener = socket.create_server(("127.0.0.1", port), backlog=128)
                port = listener.getsockname()[1]
                # Only the older one of PyTorch's two servers takes a socket that already listens.
                options |= {"master_listen_fd": listener.detach(), "use_libuv": False}
            super().__init__(host_name, port, *arguments, **options)

    torch.distributed.TCPStore = LoopbackStore
    from torch.distributed.elastic.rendezvous import c10d_rendezvous_backend

    c10d_rendezvous_backend.TCPStore = LoopbackStore
    join = DynamicRendezvousHandler.next_rendezvous

    def with_new_store(self: DynamicRendezvousHandler) -> Any:
        # After a restart, the ranks would find each other through a store that still holds the addresses of the
        # stopped ones: https://github.com/pytorch/pytorch/issues/135712
        self._bootstrap_store_info = self._shared_tcp_store_server = None
        return join(self)

    DynamicRendezvousHandler.next_rendezvous = with_new_store


if __name__ == "__main__":
    if sys.platform != "win32" and hasattr(torch.distributed, "TCPStore"):  # Windows knows no such sockets
        use_loopback()
    runpy.run_module("torch.distributed.run", run_name="__main__", alter_sys=True)
