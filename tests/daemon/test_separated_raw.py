"""A candidate that speaks the protocol of its pair itself: whatever it sends, it fails, and by its own doing."""

from __future__ import annotations

import textwrap

import pytest
from cruxbox import Assurance, Client, Limits, ScriptCheck, Task
from raw_candidates import HEAD, RAW, SCRIPT

pytestmark = pytest.mark.kernel

# The same where threads ask: the question is number 4, after that whether there are partners.
THREADS = """
import threading
GIVES = frame(b"g", bytes(8), u32(0, 0))
WANTS = frame(b"w", bytes(8), bytes(8))
LEN = b"G" + text(b"builtins") + text(b"len")
def ask(number, thread): message(b"q", number, u32(0, 3) + small(thread) + text(b"fields") + LEN)
"""
RAW_THREADS = {
    "the turn, which it keeps": "send(GIVES); send(GIVES)",
    "a change of what nobody knows, with the turn": "message(b'g', 0, u32(1, 100, 0, 0)); value(small(7), number=4)",
    "a wrong answer after a question of a thread of its own":
        "ask(1, 1); os.read(5, 1 << 16); value(small(8), number=4)",
    "questions of many threads out of turn": "\nfor n in range(1, 64): ask(n, 2 * n - 1)",
    "a question behind its answer": "value(small(8), number=4); ask(1, 0)",
    "a question of a thread that cannot be": "ask(1, -1)",
}  # fmt: skip
# Its own messages, each with some bytes changed, left out or put in, or parts of others in the place of its own; whole
# frames mostly, so that what reads values meets them.
MUTATES = """
import gc, os, random, struct
def mutate(seed):
    link = next(each for each in gc.get_objects() if type(each).__name__ == "Link")
    draw, write, parts, sent = random.Random(seed), link.write, [], []
    def changed(body):
        body = bytearray(body)
        for _ in range(draw.choice([1, 1, 2, 5])):
            at, how = draw.randrange(len(body) + 1), draw.randrange(6)
            if how == 0: body[at:at + 1] = bytes([draw.randrange(256)])
            elif how == 1: body[at:at + 1] = bytes([draw.choice(b"NTFjifsbltSZBdOCDVWAIJQ.kKGMohX+@")])
            elif how == 2: body[at:at + 4] = struct.pack("<I", draw.choice([0, 1, 2, 3, 100, 101, 1 << 16, 1 << 31]))
            elif how == 3: del body[at:at + draw.randrange(1, 40)]
            elif how == 4: body[at:at] = draw.randbytes(draw.randrange(1, 9))
            elif sent: body[at:] = draw.choice(sent)[draw.randrange(40):]
        return bytes(body)
    def write_another(data):
        parts.append(data)
        whole = b"".join(parts)
        if len(whole) < 4 + struct.unpack_from("<I", whole)[0]: return
        parts.clear()
        head = struct.unpack_from("<I", whole, 9)[0]
        body = whole[17 + head:]
        if draw.random() < .2:
            kind = whole[8:9] if draw.random() < .8 else draw.choice([b"q", b"v", b"e", b"t", b"g", b"w"])
            new = changed(body)
            front = struct.pack("<II", 1, 0)[:4] + kind + whole[9:13 + head] + struct.pack("<I", len(new))
            whole = struct.pack("<I", len(front) + len(new)) + front + new
        sent.append(body)
        write(whole)
    link.write = write_another
"""
MUTATED = {
    "data": ("def f(x): return [x, {'a': (1, 2.5)}, {1}, b'b']", "assert [f(3), f(4)] == 'a secret'"),
    "objects": (
        "class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return True\n"
        "    def __hash__(self): return 1\nclass N(int): pass\ndef f(x): return [P(x), N(x), P]",
        "found = f(1)\nkept = {found[0]}\nassert found[0].x == found[1] and f(2)[0] == P('a secret')",
    ),
    "files and logs": (
        "import logging, warnings\ndef f(x, y):\n    open(y, 'w').write(open(x).read())\n"
        "    logging.getLogger('a').error('b')\n    warnings.warn('c')",
        "import logging, os, warnings\nfor name in ('in', 'hidden'):\n    open(name, 'w').write('a secret')\n"
        "with warnings.catch_warnings(record=True) as found:\n    warnings.simplefilter('always')\n    f('in', 'out')\n"
        "assert [open('hidden').read(), str(found[0].message)] == ['a secret', 'another secret']",
    ),
    "threads": (
        "import queue, threading\nq = queue.Queue()\ndef f(x): return q.get(timeout=1) + x\ndef g(x): q.put(x)",
        "import threading\nfound = []\nthread = threading.Thread(target=lambda: found.append(f(1)))\nthread.start()\n"
        "g(2)\nthread.join()\nassert found == ['a secret']",
    ),
}
NEVER = {"PASSED", "SANDBOX_ERROR", "INVALID", "EVALUATED"}


def test_no_frame_passes_or_is_our_failure(native: Client):
    programs = [(name, HEAD, body) for name, body in RAW.items()]
    programs += [(name, HEAD + THREADS, body) for name, body in RAW_THREADS.items()]
    texts = [head + "def f(x):\n" + textwrap.indent(body, "    ") + "\n    return 8\n" for _, head, body in programs]
    assert wrong(native, [(name, text, SCRIPT) for (name, _, _), text in zip(programs, texts)]) == []


def test_no_mutated_conversation_passes_or_is_our_failure(native: Client):
    """Some seconds: a side that waits for the rest of a frame waits until its wall limit."""
    cases = [
        (f"{name} {seed}", f"{MUTATES}{program}\nmutate({seed})\n", script)
        for seed in range(8)
        for name, (program, script) in MUTATED.items()
    ]
    assert wrong(native, cases) == []


def wrong(client: Client, cases: list[tuple[str, str, str]]) -> list[str]:
    limits = Limits(cpu_ms=1000, wall_ms=5000)
    tasks = [Task(program, [ScriptCheck(script, "f")], limits=limits) for _, program, script in cases]
    return [
        f"{name}: {verdict.outcome.name} {verdict.assurance} {verdict.detail}"
        for (name, _, _), verdict in zip(cases, client.check(tasks))
        if verdict.outcome.name in NEVER or verdict.assurance is not Assurance.SEPARATED
    ]


def test_an_answer_by_hand_is_an_answer(native: Client):
    """Or the frames above would show nothing."""
    program = HEAD + "def f(x):\n    value(small(7))\n    os.read(5, 99)\n    os._exit(0)"
    (verdict,) = native.check([Task(program, [ScriptCheck("x = f(1)\nassert x == 7", "f")])])
    assert verdict.outcome.name == "PASSED", verdict
