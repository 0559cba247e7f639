"""J: the protocol. Malformed, oversized and rude clients: refused before any fork, and nobody else notices."""

from __future__ import annotations

from conformance import scenarios_protocol as protocol
from conformance import scenarios_transport as transport
from conformance.case import Case, case

OWN = "floods a server started for it"
CLOCK = "changes what a server of its own takes for the time of day"

CASES: list[Case] = [
    case(165, "message over the cap: RESOURCE_EXHAUSTED", scenario=protocol.message_over_the_cap),
    case(166, "invalid UTF-8 in a text field", scenario=protocol.invalid_utf8),
    case(167, "NUL or empty source", scenario=protocol.nul_or_empty_source),
    case(168, "time limits: negative, above the maximum, 2**63 - 1", scenario=protocol.time_limits),
    case(169, "memory limits: 0, 2**63 - 1, below the baseline", scenario=protocol.memory_limits),
    case(170, "10**6 tiny checks", scenario=protocol.a_million_checks, memory_slack_bytes=256 << 20),
    case(171, "burst of 10**5 requests: bounded queue", scenario=protocol.burst, local=OWN),
    case(172, "ids: duplicate, empty, 1 MB, control characters", scenario=protocol.odd_ids),
    case(173, "unknown enum, missing oneof", scenario=protocol.unknown_enum),
    case(174, "deeply nested protobuf", scenario=protocol.nested_protobuf),
    case(175, "gzip message 1000:1", scenario=protocol.gzip_bomb),
    case(176, "a client that never reads", scenario=transport.never_reads, memory_slack_bytes=128 << 20),
    case(177, "connection dropped or half open in mid-run", scenario=transport.dropped_connection),
    case(178, "cancel and deadline in mid-run", scenario=transport.cancelled),
    case(179, "HTTP/2 rapid reset, PING and SETTINGS floods", scenario=transport.http2_floods),
    case(180, "TLS hello, HTTP/1.1, random bytes", scenario=transport.not_http2),
    case(181, "10**4 idle connections", scenario=transport.idle_connections, local=OWN),
    case(182, "ids with newlines, %s, ANSI: logs stay whole", scenario=protocol.ids_in_logs),
    case(
        183,
        "SIGTERM under load: a verdict or UNAVAILABLE for each",
        scenario=transport.sigterm_under_load,
        local="ends a server",
    ),
    case(184, "the wall clock jumps", scenario=transport.clock_jump, local=CLOCK),
]
