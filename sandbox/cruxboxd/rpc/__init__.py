"""gRPC: requests in, verdicts out."""
