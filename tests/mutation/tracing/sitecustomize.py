"""Imported by every interpreter that a traced test starts."""

import json
import os

if "MUTATION_TRACE" in os.environ:
    import sitecustomize_lines

    sitecustomize_lines.start(*json.loads(os.environ["MUTATION_TRACE"]))
