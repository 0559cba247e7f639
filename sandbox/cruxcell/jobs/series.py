"""Makes the calls of a script that only asserts what they give (`analysis.series`), one after the other."""

import gc

from cruxcell.analysis import bytecode
from cruxcell.analysis.compiled import loaded_list
from cruxcell.analysis.hermetic import names_bound_by
from cruxcell.analysis.parsing import PROGRAM, Invalid, classify_call, compile_text
from cruxcell.jobs.calls import CALL, begin_alone, clear, loaded_count, no_seal, share
from cruxcell.jobs.context import RULE, JobContext  # noqa: F401 - in type comments
from cruxcell.namespace import fresh_namespace, module_namespace, set_recursion_depth
from cruxcell.protocol import frames, messages, records
from cruxcell.protocol.payloads import (
    BUNDLED,
    CALLS_FLAGS,
    CAME_ERROR,
    CAME_VALUE,
    SERIES_CAME,
    SHARE,
    SINGLE,
    TRUTH,
    WHOLE,
)
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain, TooLarge, canon, type_name
from cruxcell.values.trees import encode_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any

    from cruxcell.jobs.calls import Plan  # noqa: F401 - in type comments

    Call = tuple[bytes, list[Any], dict[str, Any]]  # view, arguments, keywords

_Function = type(lambda: None)
# Classes are compared by `is`: a metaclass of a program's may say what its class equals, or that it has no hash. Not by
# `id`, which the audit hook of the seal hears.
_SCALARS = (type(None), bool, int, float, complex, str, bytes)
_TRUE_OR_FALSE = (*_SCALARS, list, tuple, dict, set, frozenset)
# Errors whose text is the same wherever it is made; what a program means by any other, its script finds out.
_ERRORS = (
    ArithmeticError, AttributeError, Exception, IndexError, KeyError, LookupError, NameError, NotImplementedError,
    OverflowError, TypeError, UnboundLocalError, ValueError, ZeroDivisionError,
)  # fmt: skip


def run_series(context, fields, more_flags=0):
    # type: (JobContext, list[bytes], int) -> int
    """fields: flags, program, name, packed calls on it, packed names that the program may not bind beside it. They are
    one check: CPU ns of it; -1 if nothing else may run in this worker. All is as `run_calls` does it for one call."""
    flags = CALLS_FLAGS.unpack(fields[0])[0] | more_flags
    helper, report = context.helper, context.report
    if not context.seals:
        flags &= ~SHARE
    source, name = fields[1].decode("utf-8", "surrogatepass"), fields[2].decode()
    names = [name, *[each.decode() for each in frames.unpack(fields[4])]]
    loaded = loaded_count()
    program, planned, calls = _parse(source, name, fields[3])
    is_asked = flags & SHARE and RULE not in context.opened
    bound = names_bound_by(helper, source, program) if program is not None and is_asked else None
    sharing, planned = share(context, flags, frozenset() if program is None else bound, planned)
    plan = records.plan(sharing, planned[0][0], [item[1] for item in planned if item[1]])
    bytecode.forget()
    set_recursion_depth(2)
    gc.freeze()
    context.begin(0)
    is_sealed = helper.arm() and (sharing or flags & BUNDLED)
    seal = helper.seal if is_sealed else no_seal
    seal(report, -1, plan)
    if program is None or planned[0][0] != messages.DIRECT or (flags & BUNDLED and not sharing):
        return 0
    if not sharing:
        begin_alone(context, source)
    _make_calls(context, fresh_namespace() if sharing else module_namespace(), program, names, calls)
    used = clear(context, loaded)
    seal(report, 0)
    return used if sharing else -1


def _parse(source, name, packed):
    # type: (str, str, bytes) -> tuple[CodeType | None, Plan, list[Call]]
    """(code of the program or None, the plan, the calls, the last one first). `name()` stands for all of them in the
    rule on what may share a worker: their arguments are plain data."""
    try:
        program = compile_text(source, PROGRAM, "exec")
    except Invalid as error:
        return None, ((messages.INVALID, "the program: %s" % error, None),), []
    encoded, *views = frames.unpack(packed)
    every = loaded_list(encoded) or transfer.decode(encoded)  # type: Any
    calls = [(view, pair[0], pair[1]) for view, pair in zip(views, every)]  # type: list[Call]
    calls.reverse()
    return program, (classify_call(name + "()", name),), calls


def _make_calls(context, namespace, program, names, calls):
    # type: (JobContext, dict[str, object], CodeType, list[str], list[Call]) -> None
    """Load the program and make the calls, to the first whose value is not plain data; report what came of each.
    `names`: the one that is called, and those that the script takes to be Python's.

    A call that raises is the last, as an assertion would be that it stands in. Nothing is said of a call that came to
    something else than a plain value or a common error, nor of those behind it: then the script itself is run.

    The code of a task is two frames of the harness away from who calls this, as that of a single call is.
    """
    told, steps = [], 0  # type: list[bytes], int
    name, *others = names
    context.begin(0)
    context.settle()
    try:
        context.run(program, namespace)
        function = namespace.get(name)
        if bytecode.lacked_names(program, namespace):
            del calls[:]  # the script may import what the program lacks
        while calls and type(function) is _Function and not any(each in namespace for each in others):
            view, arguments, keywords = calls.pop()  # what the program makes of them does not outlive it
            try:
                came = _of_value(context, view, context.run(CALL, {"f": function, "a": arguments, "k": keywords}))
            except Exception as error:
                came = _of_error(context, error)
            steps += context.steps()
            if came is None or namespace.get(name) is not function:
                break
            told += [SERIES_CAME.pack(came[0], steps), came[1]]
            if came[0] == CAME_ERROR:
                break
    except BaseException as error:
        if records.is_out_of_memory(error):
            context.send_raised(error, steps)
            return
    finally:
        del calls[:]
    context.send_body(frames.pack(told), steps)


def _of_error(context, error):
    # type: (JobContext, Exception) -> tuple[bytes, bytes] | None
    """(CAME_ERROR, its packed name and text); None for one that is not common, or whose text is not plain."""
    if not _is_one_of(error, _ERRORS):
        if records.is_out_of_memory(error):
            raise error
        return None
    if not all(_is_one_of(each, _SCALARS) or _is_flat(each) for each in error.args):
        return None  # its text may be made by code of the task, whose steps are a script's too
    text = records.message_of(error, context.text_of)
    return CAME_ERROR, frames.pack([records.text_bytes(type_name(error), 200), records.text_bytes(text)])


def _is_one_of(value, kinds):
    # type: (object, tuple[type, ...]) -> bool
    """Is it of one of these classes, and no subclass?"""
    return any(type(value) is kind for kind in kinds)


def _is_flat(value):
    # type: (object) -> bool
    """Is it a tuple of scalars, as what is no key of a dict may be?"""
    return type(value) is tuple and all(_is_one_of(each, _SCALARS) for each in value)


def _of_value(context, view, value):
    # type: (JobContext, bytes, object) -> tuple[bytes, bytes] | None
    """(CAME_VALUE, its form); None for one that is not plain data."""
    try:
        if view == WHOLE:
            return CAME_VALUE, encode_tree(value, context.budget)
        data, has_nan = canon(_seen(value, view), context.budget)
    except (NotPlain, TooLarge):
        return None
    return None if has_nan else (CAME_VALUE, data)


def _seen(value, view):
    # type: (object, bytes) -> object
    """What is looked at: the value, whether it is true, or which of True, False and None it is."""
    if view == TRUTH:
        if not _is_one_of(value, _TRUE_OR_FALSE):
            raise NotPlain("its truth")
        return bool(value)
    return [value is True, value is False, value is None] if view == SINGLE else value
