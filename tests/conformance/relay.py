"""A TCP relay that can fail as networks do: reset both ends, or fall silent without closing anything."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading


class Relay:
    """Listens on the loopback address and passes bytes to `upstream` both ways, until told to fail."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets: list[socket.socket] = []
        self._frozen = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._upstream)
                self._sockets += [near, far]
                for source, sink in ((near, far), (far, near)):
                    thread = threading.Thread(target=self._pump, args=(source, sink), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self._frozen.is_set():
                    sink.sendall(data)

    def freeze(self) -> None:
        """Half open: take bytes and pass none on."""
        self._frozen.set()

    def cut(self) -> None:
        """Reset every connection on both ends."""
        self._listener.close()
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        for thread in self._threads:
            thread.join(5)
