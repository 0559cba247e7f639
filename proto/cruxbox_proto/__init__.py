"""The contract between client and server."""

# The version of everything here: client, server and contract are one package. `pyproject.toml` reads this line.
__version__ = "0.1.0"
