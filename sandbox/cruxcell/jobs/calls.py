"""Jobs that evaluate calls on a program, or apply a function to arguments that another worker computed."""

import gc
import sys

from cruxcell.analysis import bytecode
from cruxcell.analysis.determinism import has_sets, is_seedless
from cruxcell.analysis.hermetic import may_share_by, names_bound_by, names_bound_for
from cruxcell.analysis.operands import Inspector, call_findings, is_literal
from cruxcell.analysis.parsing import CHECK, PROGRAM, Invalid, OutOfRoom, classify_call, compile_text
from cruxcell.jobs import program_end, stand_ins
from cruxcell.jobs.checker_guard import guard_of
from cruxcell.jobs.context import RULE, JobContext  # noqa: F401 - in type comments
from cruxcell.namespace import fresh_namespace, module_namespace, set_recursion_depth
from cruxcell.protocol import frames, messages, records
from cruxcell.protocol.payloads import BUNDLED, CALLS_FLAGS, CHECKER, INSPECT, RUN_EXPRESSIONS, SHARE, TOGETHER
from cruxcell.values import transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from types import CodeType
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.native import Helper  # noqa: F401 - in type comments

    Checks = tuple[tuple[str, str], ...]  # (entry point, call) of each check
    Plan = tuple[tuple[str, str, CodeType | None], ...]  # (class, detail, code) of each check

CALL = compile("f(*a, **k)", "<check>", "eval")
_NOT_ASKED = "not asked"
_last = ["", None, None]  # type: list[Any]  # the program of this or the last job, its code, the names that it binds
_CODECS = sys.modules["encodings"]._cache
# After this much CPU time of candidates no other check shares the worker, as its memory may be fragmented. When a check
# takes far longer, the daemon has others do the rest meanwhile, so this one must not.
SPENT_NS = 20_000_000


def run_calls(context, fields, more_flags=0):  # noqa: C901 - who arms the seal seals, from the same frame
    # type: (JobContext, list[bytes], int) -> int
    """fields: flags, program, then entry point and call for each check. CPU ns of the calls; -1 if nothing else may run
    in this worker.

    Everything is parsed and the plan sent before the first line of the program runs. Constants are evaluated first,
    while nothing of the candidate has run; then the calls that the plan says run here (see `share`). Where calls may
    not share a worker, that is the first one alone: the daemon sees it in the plan and gives each of the others a
    worker of its own. Calls that are to be evaluated TOGETHER follow each other all the same, until the worker ends,
    within the time of one.
    """
    helper, report, loaded = context.helper, context.report, loaded_count()
    flags, checks, program, sharing, planned, plan, inspector = _prepare(context, fields, more_flags)
    bytecode.forget()
    set_recursion_depth(2)
    gc.freeze()  # what is ours need not be looked through for what a check left
    # Where checks follow each other, the helper vouches for each that the next finds all as it was (see `seal`).
    context.begin(0)  # what a check finds in place is part of the snapshot
    is_sealed = helper.arm() and (sharing or flags & BUNDLED)
    seal = helper.seal if is_sealed else no_seal
    seal(report, -1, plan)
    spent = 0
    for index, (kind, _, code) in enumerate(planned):
        if kind == messages.CONSTANT and code is not None:
            _evaluate(context, index, True, None, code)
            used = clear(context, loaded)
            seal(report, index)
            if used < 0:
                return -1
            spent += used
    if not sharing:
        if flags & BUNDLED:
            return spent
        begin_alone(context, fields[1].decode("utf-8", "surrogatepass"))
    runnable = messages.DIRECT + (messages.ARGUED + messages.EXPRESSION if flags & RUN_EXPRESSIONS else "")
    for index, (kind, _, code) in enumerate(planned):
        if kind in runnable and code is not None:
            look = _looker(inspector, checks[index][1], code, context) if inspector is not None else None
            guard = guard_of(context, program) if program and flags & CHECKER and not sharing else None
            _evaluate(context, index, sharing, program, code, look, guard, is_final=not flags & BUNDLED)
            used = clear(context, loaded)
            seal(report, index)
            if not sharing:
                if flags & TOGETHER:
                    continue
                return -1
            if used < 0:
                return -1
            spent += used
    return spent


def _prepare(context, fields, more_flags):
    # type: (JobContext, list[bytes], int) -> tuple[int, Checks, CodeType | None, bool, Plan, bytes, Inspector | None]
    """Parse everything: (flags, checks, the program, may the calls share, the plan, its record, who looks at operands).
    Where somebody does, the record is sent here, and b""."""
    flags, source, checks = _read(context, fields, more_flags)
    program, planned = _parse(source, checks, bool(flags & BUNDLED), CHECK if flags & CHECKER else PROGRAM)
    is_asked = flags & INSPECT or (flags & SHARE and RULE not in context.opened)
    bound = _bound(context.helper, source, program) if program is not None and is_asked else None
    names = frozenset() if program is None else _bound_here(context, flags, source, program, planned, bound)
    sharing, planned = share(context, flags, names, planned)
    plan = records.plan(sharing, "".join([item[0] for item in planned]), [item[1] for item in planned if item[1]])
    inspector = None
    if flags & INSPECT:
        context.send(plan)
        plan = b""
        inspector = _inspect_texts(context, source, program, checks, planned, bound)
    return flags, checks, program, sharing, planned, plan, inspector


def _read(context, fields, more_flags):
    # type: (JobContext, list[bytes], int) -> tuple[int, str, Checks]
    """(flags, program, checks) of a JOB_CALLS."""
    flags = CALLS_FLAGS.unpack(fields[0])[0] | more_flags
    if not context.seals:
        flags &= ~SHARE
    checks = [
        (entry_point.decode(), call.decode("utf-8", "surrogatepass"))
        for entry_point, call in zip(fields[2::2], fields[3::2])
    ]
    return flags, fields[1].decode("utf-8", "surrogatepass"), tuple(checks)


def share(context, flags, bound, planned):
    # type: (JobContext, int, frozenset[str] | None, Plan) -> tuple[bool, Plan]
    """(may the calls here follow each other, and others them?, the plan with what must be ALONE marked).

    `bound`: the names that the program binds for its calls; None if it is not hermetic. A call that may not share (see
    `hermetic.may_share`) is ALONE where others run here; where there are none, or all calls run TOGETHER whatever they
    are, they do not share.
    """
    if RULE in context.opened:
        return bool(flags & SHARE), planned
    if not flags & SHARE or bound is None:
        return False, planned
    helper = context.helper
    apart = [kind == messages.DIRECT and not may_share_by(helper, code, bound) for kind, _, code in planned]
    if True not in apart:
        return True, planned
    calls = sum(kind == messages.DIRECT for kind, _, _ in planned)
    if flags & TOGETHER or not (flags & BUNDLED or calls > sum(apart)):
        return False, planned
    return True, tuple([(messages.ALONE, "", None) if alone else item for alone, item in zip(apart, planned)])


def begin_alone(context, source):
    # type: (JobContext, str) -> None
    """Nothing follows what runs now, so its program may have functions of ours. `os.statvfs` stays refused."""
    context.last_check()
    stand_ins.install_for(source, 0, context.memory_bytes)
    program_end.show_lines_for(source)


def no_seal(report, index, record=b""):  # noqa: ARG001 - as the helper's
    # type: (int, int, bytes) -> None
    """For a check that is alone in its worker, or whose worker nobody relies on."""
    if record:
        frames.write_all(report, record)


def clear(context, loaded):
    # type: (JobContext, int) -> int
    """Take away what a check left, and only then begin the time of the next. CPU ns of the check; -1 if no other may
    follow it: the interpreter has imported something (a codec, say), which the next would find there and take fewer
    steps; or it took long, and beside that a new worker costs nothing; or what the collector let go left garbage again
    and again, which would act on the time of the next."""
    used = context.used_cpu_ns if type(context.used_cpu_ns) is int else SPENT_NS + 1  # it is asked behind the seal
    context.forget()
    is_collected = not gc.collect() or not gc.collect()
    gc.freeze()  # what it has left is not looked through again: nothing of the check runs behind its seal
    context.next_check()
    if used > SPENT_NS or loaded_count() != loaded or not is_collected or not context.is_clear():
        return -1
    return used


def loaded_count():
    # type: () -> int
    """How much the interpreter has imported or looked up for itself."""
    return len(sys.modules) + len(_CODECS)


def _parse(source, checks, is_beside, name):
    # type: (str, Checks, bool, str) -> tuple[CodeType | None, Plan]
    """(code of the program or None, [(class, detail, code) of each check]). `is_beside`: others share this worker.

    Where there was no room for a text, the texts of others may be why: then its check is ALONE."""
    has_company = is_beside or len(checks) > 1
    try:
        program = _compiled(source, name) if source else None
    except Invalid as error:
        return None, (_refused("the program", error, has_company),) * len(checks)
    planned = []
    for entry_point, call in checks:
        try:
            planned.append(classify_call(call, entry_point))
        except Invalid as error:
            planned.append(_refused("the call", error, has_company))
    return program, tuple(planned)  # which no check can change


def _refused(what, error, has_company):
    # type: (str, Invalid, bool) -> tuple[str, str, CodeType | None]
    if has_company and type(error) is OutOfRoom:
        return messages.ALONE, "", None
    return messages.INVALID, "%s: %s" % (what, error), None


def _compiled(source, name):
    # type: (str, str) -> CodeType
    """The code of a program; that of the job before, if it had the same program. No code of a task can have reached it:
    it is in a list that the seal compares, and code does not change."""
    if _last[0] != source or _last[1].co_filename != name:
        _last[:] = [source, compile_text(source, name, "exec"), _NOT_ASKED]
    program = _last[1]  # type: CodeType
    return program


def _bound(helper, source, program):
    # type: (Helper, str, CodeType) -> frozenset[str] | None
    """`hermetic.bound_names` of the program that was compiled last."""
    if _last[2] is _NOT_ASKED:
        _last[2] = names_bound_by(helper, source, program)
    bound = _last[2]  # type: frozenset[str] | None
    return bound


def _bound_here(context, flags, source, program, planned, bound):  # noqa: PLR0917 - all that parsing found
    # type: (JobContext, int, str, CodeType, Plan, frozenset[str] | None) -> frozenset[str] | None
    """`bound`; where that is None, the names of a program that is hermetic for these calls alone."""
    if bound is not None or not flags & SHARE or RULE in context.opened:
        return bound
    calls = [code for kind, _, code in planned if kind != messages.CONSTANT and code is not None]
    return names_bound_for(source, program, calls)


def _inspect_texts(context, source, program, checks, planned, bound):  # noqa: PLR0917 - all that parsing found
    # type: (JobContext, str, CodeType | None, Checks, Plan, frozenset[str] | None) -> Inspector | None
    """Report what the texts alone say, before any of them runs. `bound`: as for `share`."""
    if program is None:
        return None
    inspector = Inspector(source, program)
    blind = bound if bound is not None and is_seedless(source, program) else frozenset()
    every = []
    for index, (kind, _, code) in enumerate(planned):
        found = set()  # type: set[str]
        if code is not None and kind not in (messages.INVALID, messages.ALONE):
            found = inspector.static(code) | call_findings(checks[index][1], code, kind == messages.DIRECT)
            if kind == messages.DIRECT and _is_seedless_call(checks[index][1], code, blind):
                found.add(messages.SEEDLESS)
        every.append(found)
    context.send(records.findings(0, every))
    return inspector


def _is_seedless_call(text, code, blind):
    # type: (str, CodeType, frozenset[str]) -> bool
    """Is this a call of a function that is `blind` to the hash seed, and blind itself?"""
    return code.co_names[0] in blind and not ("{" in text and has_sets(code))


def _looker(inspector, call, code, context):
    # type: (Inspector, str, CodeType, JobContext) -> Callable[[], set[str]]
    """A function that has a look at the operands of the call."""
    evaluate = context.helper.evaluate
    return lambda: inspector.look(call, code, context.next_check, evaluate)


def _evaluate(  # noqa: PLR0917 - a check, how to take it
    context,  # type: JobContext
    index,  # type: int
    sharing,  # type: bool
    program,  # type: CodeType | None
    code,  # type: CodeType
    look=None,  # type: Callable[[], set[str]] | None
    guard=None,  # type: Callable[[], object] | None
    is_final=True,  # type: bool
):
    # type: (...) -> None
    """One check. `guard` is called when its program has been loaded. With `look`, it is run again to see its operands;
    nothing is reported before that is done, so that whatever ends the worker meanwhile is put down to this check. If
    that is not final, what ran out of memory will run again, alone, and is looked at then."""
    namespace = fresh_namespace() if sharing else module_namespace()
    context.begin(index)
    context.settle()
    value = raised = None
    steps = 0
    try:
        if program is not None:
            context.run(program, namespace)
            if guard is not None:
                guard()
        value = context.run(code, namespace)
        steps = context.steps()
    except BaseException as error:
        raised = error
    if look is not None and (is_final or raised is None or not records.is_out_of_memory(raised)):
        context.end()
        found = look()
        if raised is None and not is_literal(value):
            found.add(messages.OUTPUT_SHAPE)
        if found:
            context.send(records.findings(index, [found]))
    if raised is None:
        context.send_value(value, steps)
    else:
        context.send_raised(raised)
        raised = None  # it holds this frame, and with it all that the check made


def run_apply(context, fields, read=None):
    # type: (JobContext, list[bytes], Callable[[list[bytes]], tuple[str, Any, dict[str, Any]]] | None) -> None
    """fields: program, name, encoded (arguments, keyword arguments). Decoded before the program runs, by `read`: (name,
    arguments, keyword arguments). In one frame: a program finds the same depth however it is run."""
    try:
        source = fields[0].decode("utf-8", "surrogatepass")
        program = compile_text(source, CHECK if read else PROGRAM, "exec")
        name, positional, keywords = (read or _named_arguments)(fields[1:])
    except (Invalid, transfer.Garbled) as error:
        context.refuse("the program: %s" % error)
        return
    namespace = module_namespace()
    guard = guard_of(context, program) if read is not None else None
    stand_ins.install_for(source, context.scratch_bytes, context.memory_bytes)
    if read is None:  # a checker's lines are not the program's
        program_end.show_lines_for(source)
    context.start(messages.DIRECT, 1)
    try:
        context.run(program, namespace)
        if guard is not None:
            guard()
        function = context.run(compile_text(name, "<check>", "eval"), namespace)
        value = context.run(CALL, {"f": function, "a": positional, "k": keywords})
    except BaseException as error:
        context.send_raised(error)
    else:
        context.send_value(value)


def run_checker(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: program, a standard input, what another program printed on it, what was expected of that. What `check` of
    the program says of these three texts. They are megabytes, and no text of a call is made of them."""
    run_apply(context, fields, _checked_texts)


def _named_arguments(fields):
    # type: (list[bytes]) -> tuple[str, Any, dict[str, Any]]
    return (fields[0].decode(), *_arguments(fields[1]))


def _checked_texts(fields):
    # type: (list[bytes]) -> tuple[str, Any, dict[str, Any]]
    errors = ("surrogatepass", "replace", "surrogatepass")
    return "check", tuple([field.decode("utf-8", how) for field, how in zip(fields, errors)]), {}


def _arguments(data):
    # type: (bytes) -> tuple[tuple[object, ...], dict[str, object]]
    pair = transfer.decode(data)
    if (
        type(pair) is not tuple
        or len(pair) != 2
        or type(pair[0]) is not tuple
        or type(pair[1]) is not dict
        or any(type(key) is not str for key in pair[1])
    ):
        raise transfer.Garbled("not a pair of arguments and keyword arguments")
    return pair
