"""Exit 0 when a daemon's health says SERVING: `probe.py TARGET SERVICE` ("" is the whole server).

For exec probes where Kubernetes' own gRPC probe cannot go (TLS). Errors go to stderr as one sentence.
"""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

TIMEOUT_S = 4.0


def main(target: str, service: str) -> int:
    """0 for SERVING, 1 for any other answer or none."""
    with grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            print(f"probe: {target} does not answer for {service!r}: {error.code().name}", file=sys.stderr)
            return 1
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return 0
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    print(f"probe: {target} says {name} for {service!r}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
