"""Filter a Parquet set of candidates on Ray, against any number of sandbox servers.

    python examples/ray_filter.py candidates.parquet kept/ dns:///cruxboxd:50051

Without arguments it shows itself: it makes a small set, starts two servers here, and filters with two actors.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator

import grpc
import pyarrow
import ray
from cruxbox.channel import is_serving
from cruxbox.ray import Filter
from pyarrow import parquet


def filter_set(candidates: str, kept: str, target: str, actors: int = 2, batch_size: int = 500) -> Counter[str]:
    """Filter `candidates` (Parquet rows of code and inputs) into the folder `kept`; how often each reason was given.

    `batch_size` is rows a call: enough to keep the servers busy, small enough to be done again after a failure.
    """
    rows = ray.data.read_parquet(candidates).repartition(4 * actors)  # small files are one block, for one actor
    pairs = rows.map_batches(
        Filter,
        fn_constructor_args=[target],
        fn_constructor_kwargs={"keep_refused": True},
        batch_size=batch_size,
        concurrency=actors,
        num_cpus=0.5,  # an actor mostly waits for the servers
    )
    pairs = pairs.materialize()  # read twice below, but run once
    pairs.filter(lambda pair: len(pair["reasons"]) == 0).drop_columns(["reasons"]).write_parquet(kept)
    return Counter(reason for pair in pairs.iter_rows() for reason in pair["reasons"])


@contextlib.contextmanager
def servers(count: int) -> Iterator[str]:
    """`count` servers on this machine, as one target; elsewhere they are a Kubernetes service."""
    addresses = []
    with contextlib.ExitStack() as running:
        for _ in range(count):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                addresses.append(f"127.0.0.1:{probe.getsockname()[1]}")
            command = [sys.executable, "-m", "cruxboxd", "serve", "--workers", "1", "--listen", addresses[-1]]
            process = running.enter_context(subprocess.Popen(command))
            running.callback(process.terminate)
            with grpc.insecure_channel(addresses[-1]) as channel:
                while not is_serving(channel, timeout_s=1) and process.poll() is None:
                    time.sleep(0.1)
        yield "ipv4:" + ",".join(addresses)


def show() -> None:
    """Two servers, two actors, 1,000 pairs."""
    codes = [
        "def f(text, n):\n    parts = [part.strip() for part in text.split(',')]\n    return parts[n:] or [text]\n",
        "def f(text, n):\n    import random\n    return random.choice([text.upper(), n, text.split(','), None])\n",
    ]
    rows = [
        {"code": codes[row % 4 == 0], "inputs": [f"'a,b , {row}, {n}', {n % 3}" for n in range(5)]}
        for row in range(200)
    ]
    with tempfile.TemporaryDirectory() as folder, servers(2) as target:
        source, kept = f"{folder}/candidates.parquet", f"{folder}/kept"
        parquet.write_table(pyarrow.Table.from_pylist(rows), source)
        reasons = filter_set(source, kept, target, batch_size=50)
        print(f"{parquet.read_table(kept).num_rows} of 1000 pairs kept; refused: {dict(reasons)}")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(dict(filter_set(*sys.argv[1:])))
    else:
        show()
