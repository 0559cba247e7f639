"""Start of a template: `python -S -c "…; main()"`, executed by the daemon with a channel to it.

The first datagram on the channel is the setup: settings as fields, see `_Setup`. Then `template` forks zygotes.
"""

import _socket
import gc
import os
import sys

from cruxcell import own_names, worker
from cruxcell.builtin_like import builtin_like
from cruxcell.confinement import stat_by_opening
from cruxcell.jobs.context import JobContext
from cruxcell.protocol import frames, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.confinement.settings import Settings  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments
    from cruxcell.template import Kind, Way  # noqa: F401 - in type comments


class _Setup:
    """The fields of the setup datagram, in order; lists are NUL-separated, numbers decimal."""

    def __init__(self, fields):
        # type: (list[bytes]) -> None
        self.compute_bpf, self.shared_bpf, self.stdlib_bpf, self.scratch_bpf = fields[:4]
        self.path = _list(fields[4])
        self.readable = _list(fields[5])
        self.preload = _list(fields[6])
        self.uid, self.gid = int(fields[7]), int(fields[8])
        self.namespaces = fields[9] == b"1"
        self.pure = fields[10] == b"1"
        self.native_folder = os.fsdecode(fields[11])
        self.require = _list(fields[12])
        self.may_lack = _list(fields[13])
        self.opened = frozenset(_list(fields[14]))  # by a test
        self.threads = fields[15] == b"1"
        self.scratch_bytes = int(fields[16])  # of a scratch folder, where a worker has one
        self.version = os.fsdecode(fields[17])  # of the interpreter that the daemon found
        self.empty_folder = os.fsdecode(fields[18])


def _list(field):
    # type: (bytes) -> list[str]
    return [os.fsdecode(item) for item in field.split(b"\0") if item]


def main():
    # type: () -> None
    """argv: the number of the channel to the daemon."""
    from cruxcell import template

    channel = _socket.socket(fileno=template.moved_away(int(sys.argv[1])))
    os.close(int(sys.argv[1]))
    parent = os.getppid()
    setup = _Setup(frames.unpack(channel.recv(1 << 20)))
    try:
        kind = _prepare(setup, parent)
    except Exception as error:
        try:
            channel.send(template.what_failed(error))
        finally:
            os._exit(1)  # whether or not anybody hears it
    template.serve(kind, channel)


def _prepare(setup, parent):
    # type: (_Setup, int) -> Kind
    """All that zygotes of a kind have in common, done once. No module of the harness can be imported after it."""
    _be_as_found(setup)
    from cruxcell import native, rehearsal, seal, template  # noqa: F401 - while bytecode is kept
    from cruxcell.analysis import unknown
    from cruxcell.confinement import linux
    from cruxcell.values import containers, sets

    sys.dont_write_bytecode = True  # nothing of what programs use
    helper = native.load(setup.pure, setup.native_folder)
    sets.use(helper)
    containers.use(helper)
    linux.die_with(helper, parent)
    _load_what_programs_use(setup)
    _warm_up(helper)
    ways = _ways(setup, parent)
    _forget_its_folders()
    seals = helper.SEALS and not setup.threads  # beside threads no check follows another
    watched = seal.entries() if seals else []
    if seals:
        unknown.learn([entry[1] for entry in watched])
    _forget_the_harness()
    context = JobContext(helper, worker.REPORT, worker.PROGRESS, seals, setup.opened)
    # As a check has them: no worker writes them down.
    sys.stdout, sys.stderr = context.stdout, context.stderr
    helper.watch(seal.in_order(watched + seal.of_context(context)))
    del watched
    _have_one_thread(setup)
    gc.collect()
    gc.disable()
    gc.freeze()
    return template.Kind(helper, context, setup.threads, ways)


def _be_as_found(setup):
    # type: (_Setup) -> None
    """What a verdict says of its interpreter is what the daemon found, and so are its modules and its helper."""
    version = sys.version.split()[0]
    if version != setup.version:
        raise RuntimeError("it is Python %s now, and was %s when the daemon started" % (version, setup.version))


def _have_one_thread(setup):
    # type: (_Setup) -> None
    """A fork copies the calling thread alone, and what another one has locked stays locked in the copy."""
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("importing one of %s starts threads" % ", ".join(setup.preload))


def _ways(setup, parent):
    # type: (_Setup, int) -> dict[bytes, Way]
    """How zygotes are confined, by what an order says."""
    from cruxcell.confinement import scratch
    from cruxcell.template import Way

    def have_folders():
        # type: () -> None
        os.environ.update(HOME=scratch.FOLDER, TMPDIR=scratch.FOLDER)

    plain = Way(_settings(setup, parent, False), _filters(setup, setup.stdlib_bpf), _without_stat(setup), 0)
    with_folders = Way(
        _settings(setup, parent, True), _filters(setup, setup.scratch_bpf), have_folders, setup.scratch_bytes
    )
    return {messages.PLAIN: plain, messages.WITH_SCRATCH: with_folders}


def _filters(setup, whole_bpf):
    # type: (_Setup, bytes) -> dict[int, bytes]
    return {0: whole_bpf, messages.COMPUTE_PROFILE: setup.compute_bpf, messages.SHARED_PROFILE: setup.shared_bpf}


def _load_what_programs_use(setup):
    # type: (_Setup) -> None
    """Modules, and what a program finds in an interpreter that has been started as usual."""
    sys.path[:] = setup.path
    _quiet()
    put_back = _process_as_it_is()
    for name in setup.preload:
        _import(name)
    put_back()
    if setup.threads:
        _prepare_for_threads()
    _give_what_site_gives()
    _seed_after_fork()
    _find_no_libraries()


def _settings(setup, parent, scratch):
    # type: (_Setup, int, bool) -> Settings
    from cruxcell.confinement.settings import Settings
    from cruxcell.forks import KEPT

    return Settings(
        uid=setup.uid,
        gid=setup.gid,
        readable=setup.readable,
        keep_fds=(0, 1, 2, *KEPT),
        want_namespaces=setup.namespaces,
        empty_dir=setup.empty_folder,
        require=setup.require,
        allow_degraded=setup.may_lack,
        parent=parent,
        scratch=scratch,
    )


def _without_stat(setup):
    # type: (_Setup) -> Callable[[], None]
    """Puts in place how programs without a scratch folder may ask about files. For a zygote that is confined: what
    confines it asks, too.

    There the file tree is not known to hold nothing but what may be read, and stat by path is refused to workers.
    """
    import_without_stat, look_without_stat = _imports_without_stat(), _looks_without_stat(setup)

    def put_in_place():
        # type: () -> None
        import_without_stat()
        look_without_stat()

    return put_in_place


def _quiet():
    # type: () -> None
    """No warning of the compiler about a task's texts is ever printed, or turned into an import of `warnings`. It says
    their file name for the module; what code of a task warns of has the name of its own, and is shown as ever."""
    import _warnings

    from cruxcell.analysis.parsing import CHECK, PROGRAM

    _warnings.filters.extend([("ignore", None, Warning, name, 0) for name in (CHECK, PROGRAM)])
    if hasattr(_warnings, "_filters_mutated"):
        _warnings._filters_mutated()


def _process_as_it_is():
    # type: () -> Callable[[], None]
    """What puts back how the process takes signals and makes files. A module that is imported may change that: where
    it ignores SIGCHLD zygotes could not wait for their workers."""
    import _signal

    fixed = (_signal.SIGKILL, _signal.SIGSTOP)
    before = [(number, _signal.getsignal(number)) for number in range(1, _signal.NSIG) if number not in fixed]
    blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, [])
    folder, mask = os.getcwd(), os.umask(0)
    os.umask(mask)

    def put_back():
        # type: () -> None
        for timer in (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF):
            _signal.setitimer(timer, 0)
        for number, handler in before:
            if handler is not None:  # it was not set by Python, as those of the C library's own
                _signal.signal(number, handler)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
        os.chdir(folder)
        os.umask(mask)

    return put_back


def _import(name):
    # type: (str) -> None
    try:
        __import__(name)
    except ImportError:
        pass  # not every runtime has every module; a candidate that needs it gets the same ImportError


def _seed_after_fork():
    # type: () -> None
    """numpy seeds its generator when it is imported, so every worker would draw the same numbers.

    A seed without an argument costs each worker half a millisecond and a hundred pages; a number costs neither.
    """
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        seed, urandom, number = numpy_random.seed, os.urandom, int.from_bytes
        seed(number(urandom(4), "little"))
        os.register_at_fork(after_in_child=lambda: seed(number(urandom(4), "little")))


def _find_no_libraries():
    # type: () -> None
    """threadpoolctl, which scikit-learn needs, looks for libraries that have threads: in /proc, which is not there, or
    by a callback from the loader, for which ctypes would make machine code. They have one thread each here anyway."""
    for cls in list(vars(sys.modules.get("threadpoolctl", object)).values()):
        if isinstance(cls, type) and "_load_libraries" in vars(cls):
            cls._load_libraries = lambda _self: None  # type: ignore[attr-defined]


def _give_what_site_gives():
    # type: () -> None
    """`exit`, `quit` and `help`: programs use them, and the module that gives them is not imported here."""
    import _sitebuiltins
    import builtins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    builtins.help = _sitebuiltins._Helper()


def _prepare_for_threads():
    # type: () -> None
    import _thread

    from cruxcell.confinement import rlimits, waiting_loop, waiting_threads

    _thread.stack_size(rlimits.THREAD_STACK_BYTES)
    waiting_loop.install()
    waiting_threads.install()


def _warm_up(helper):
    # type: (Helper) -> None
    """Compile, run and encode something real, so that no worker pays for first uses."""
    from cruxcell import rehearsal
    from cruxcell.analysis import annotations, parsing
    from cruxcell.analysis.hermetic import is_hermetic
    from cruxcell.namespace import fresh_namespace
    from cruxcell.protocol import frames
    from cruxcell.values import canonical, transfer

    annotations.make_beforehand()
    source = "def f(a, b=2):\n    out = {}\n    for x in sorted(a):\n        out[x] = [x * b, 1.5]\n    return out"
    program = parsing.compile_text(source, parsing.PROGRAM, "exec")
    is_hermetic(source, program)
    call = parsing.classify_call("f([3, 1, 2], b=-1)", "f")[2]  # type: Any
    namespace = fresh_namespace()
    helper.run(program, namespace, 1000, -1, b"-")
    value = helper.run(call, namespace, 1000, -1, b"-")
    canonical.canon([value, ("a", None, {1}, b"", 2**70)], 10_000)
    canonical.short_repr(value, 100)
    transfer.decode(transfer.encode([value, ("a", None, 1.5)], 10_000))
    frames.unpack(frames.pack([b"", b"1"]))
    assertion = "assert [1, (2, 'x')] == f(1)"
    parsing.split_assertion(assertion, parsing.parse_text(assertion, "exec"))
    try:
        helper.run(parsing.compile_text("1/0", parsing.CHECK, "eval"), namespace, 1000, -1, b"-")
    except ZeroDivisionError as error:
        from cruxcell.protocol import records

        records.raised(records.NUMBERS.pack(0, 0, 0, 0, 0), error)
    rehearsal.rehearse(helper)


def _looks_without_stat(setup):
    # type: (_Setup) -> Callable[[], None]
    """Lets programs look at files of the runtime, and only there, although stat by path is refused."""
    stat_by_opening.allow([folder.rstrip("/") for folder in setup.readable + setup.path])
    shared = sys.modules["os"]  # type: Any
    functions = {
        name: builtin_like(getattr(stat_by_opening, name), getattr(shared, name), "os") for name in ("stat", "lstat")
    }
    return lambda: vars(shared).update(functions)


def _imports_without_stat():
    # type: () -> Callable[[], None]
    """Lets the import system learn about files by opening them: stat by path is refused to workers, because it would
    tell which files exist outside of what they may open."""
    import _frozen_importlib_external

    external = _frozen_importlib_external  # type: Any

    # The module's own view of `posix` is replaced, not its function: a traced import keeps its number of events.
    posix = type(sys)("posix")  # type: Any
    posix.__dict__.update(external._os.__dict__)
    posix.stat = stat_by_opening.any_file
    return lambda: vars(external).update(_os=posix)


def _forget_its_folders():
    # type: () -> None
    """Where the harness was found. Nothing of it is imported from now on."""
    folder = os.path.dirname(__file__)
    for name in [name for name in sys.path_importer_cache if name.startswith(folder)]:
        del sys.path_importer_cache[name]


def _forget_the_harness():
    # type: () -> None
    """Nothing of the harness can be found through the module table, an import, or what the import system remembers."""
    own_names.are_given()
    for name in [name for name in sys.modules if name.partition(".")[0] == "cruxcell"]:
        del sys.modules[name]
    sys.argv[:] = [""]
    main = vars(sys.modules["__main__"])
    main.clear()
    main.update(__name__="__main__", __doc__=None)  # which `doctest.testmod` looks at
