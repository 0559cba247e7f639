"""The network. There is none: no address can be reached, no socket exists, and the sentinels hear nothing."""

from __future__ import annotations

from conformance.case import Case, attempts, case

REFUSED = "PFV"
SOCKET = "import os, socket, struct\nsocket.setdefaulttimeout(0.2)"

CASES: list[Case] = [
    case(
        "server-port",
        "connect to the server's own port and to a sentinel",
        attempts(
            REFUSED,
            SOCKET,
            "socket.create_connection(('127.0.0.1', @{daemon_port}))",
            "socket.create_connection(('127.0.0.1', @{tcp_port}))",
            "socket.create_connection(('::1', @{daemon_port}))",
            "socket.create_connection(('localhost', @{tcp_port}))",
            "socket.socket().connect_ex(('127.0.0.1', @{tcp_port})) and 1 / 0",
        ),
    ),
    case(
        "metadata-address",
        "the metadata address and an external one",
        attempts(
            REFUSED,
            SOCKET,
            "socket.create_connection(('169.254.169.254', 80))",
            "socket.create_connection(('192.0.2.1', 443))",
            "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:@{tcp_port}/', timeout=0.2)",
        ),
    ),
    case(
        "udp-and-names",
        "UDP and name resolution",
        attempts(
            REFUSED,
            SOCKET,
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @{udp_port}))",
            "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('::ffff:127.0.0.1', @{udp_port}))",
            "socket.getaddrinfo('example.com', 80)",
            "socket.gethostbyname('localhost.example')",
        ),
    ),
    case(
        "unix-path",
        "unix socket by path",
        attempts(REFUSED, SOCKET, "socket.socket(socket.AF_UNIX).connect('@{unix_path}')"),
    ),
    case(
        "unix-abstract",
        "unix socket by abstract name",
        attempts(REFUSED, SOCKET, "socket.socket(socket.AF_UNIX).connect('\\0@{abstract}')"),
    ),
    case(
        "bind-listen",
        "bind and listen",
        attempts(
            REFUSED,
            SOCKET,
            "s = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()",
            "socket.create_server(('', 0))",
            "s = socket.socket(socket.AF_UNIX)\ns.bind('\\0cruxbox-own')\ns.listen()",
            "socket.socketpair()",
        ),
    ),
    case(
        "raw-sockets",
        "raw, netlink, vsock, AF_ALG, packet",
        attempts(
            REFUSED,
            SOCKET,
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
            "socket.socket(40, socket.SOCK_STREAM)",
            "socket.socket(38, socket.SOCK_SEQPACKET)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
            "socket.socket(31, socket.SOCK_RAW, 1)",
        ),
    ),
    case(
        "inherited-socket",
        "descriptors received over an inherited socket: none is inherited",
        attempts(
            REFUSED,
            SOCKET,
            """
            found = []
            for number in range(256):
                try:
                    found.append(socket.socket(fileno=number).detach())
                except OSError:
                    pass
            if not found: raise OSError
            """,
            """
            from socket import recv_fds
            found = []
            for number in range(3, 64):
                try:
                    found.append(recv_fds(socket.socket(socket.AF_UNIX, fileno=number), 10, 4))
                except OSError:
                    pass
            if not found: raise OSError
            """,
        ),
    ),
    case(
        "http-server",
        "http.server",
        attempts(REFUSED, "", "import http.server\nhttp.server.HTTPServer(('127.0.0.1', 0), None)"),
    ),
]
