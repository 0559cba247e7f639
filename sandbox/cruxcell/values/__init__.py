"""Values as bytes: canonical (one way, compared by the daemon) and transfer (to another worker)."""
