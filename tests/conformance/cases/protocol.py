"""The protocol. Malformed, oversized and rude clients: refused before any fork, and nobody else notices."""

from __future__ import annotations

from conformance import scenarios_protocol as protocol
from conformance import scenarios_transport as transport
from conformance.case import Case, case

OWN = "floods a server started for it"
CLOCK = "changes what a server of its own takes for the time of day"

CASES: list[Case] = [
    case("message-over-cap", "message over the cap: RESOURCE_EXHAUSTED", scenario=protocol.message_over_the_cap),
    case("invalid-utf8", "invalid UTF-8 in a text field", scenario=protocol.invalid_utf8),
    case("empty-source", "NUL or empty source", scenario=protocol.nul_or_empty_source),
    case("time-limits", "time limits: negative, above the maximum, 2**63 - 1", scenario=protocol.time_limits),
    case("memory-limits", "memory limits: 0, 2**63 - 1, below the baseline", scenario=protocol.memory_limits),
    case("many-tiny-checks", "10**6 tiny checks", scenario=protocol.a_million_checks, memory_slack_bytes=256 << 20),
    case("request-burst", "burst of 10**5 requests: bounded queue", scenario=protocol.burst, local=OWN),
    case("odd-ids", "ids: duplicate, empty, 1 MB, control characters", scenario=protocol.odd_ids),
    case("unknown-enum", "unknown enum, missing oneof", scenario=protocol.unknown_enum),
    case("nested-protobuf", "deeply nested protobuf", scenario=protocol.nested_protobuf),
    case("gzip-bomb", "gzip message 1000:1", scenario=protocol.gzip_bomb),
    case(
        "reader-that-never-reads",
        "a client that never reads",
        scenario=transport.never_reads,
        memory_slack_bytes=128 << 20,
    ),
    case("connection-dropped", "connection dropped or half open in mid-run", scenario=transport.dropped_connection),
    case("cancel-and-deadline", "cancel and deadline in mid-run", scenario=transport.cancelled),
    case("http2-floods", "HTTP/2 rapid reset, PING and SETTINGS floods", scenario=transport.http2_floods),
    case("other-protocols", "TLS hello, HTTP/1.1, random bytes", scenario=transport.not_http2),
    case("idle-connections", "10**4 idle connections", scenario=transport.idle_connections, local=OWN),
    case("ids-in-logs", "ids with newlines, %s, ANSI: logs stay whole", scenario=protocol.ids_in_logs),
    case(
        "sigterm-under-load",
        "SIGTERM under load: a verdict or UNAVAILABLE for each",
        scenario=transport.sigterm_under_load,
        local="ends a server",
    ),
    case("clock-jumps", "the wall clock jumps", scenario=transport.clock_jump, local=CLOCK),
]
