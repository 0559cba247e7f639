"""What the operator and the host say: configuration, flags, CPUs and memory."""
