"""May checks of this program share a worker? Decided on compiled code, before a line of it runs.

A program is *hermetic* when it cannot change anything that outlives its own namespace, so that executing it anew in a
fresh namespace is as good as a fresh process. The rule is conservative; what it does not understand is not hermetic:

* no import statement (the text does not hold the word `import`);
* no name that begins with two underscores: no dunder attributes, so also no class statements, which compile to them;
* no attribute that leads to frames or code (`gi_frame`, `tb_frame`, `f_globals`, ...);
* every builtin that is named is one of SAFE_BUILTINS: pure functions and plain types.

Left over: arithmetic, calls of the program's own functions, methods of plain data, closures, generators, exceptions,
`global` (the globals are the fresh namespace). Plain types cannot be changed from Python, so nothing can be left behind.
"""

import builtins

SAFE_BUILTINS = frozenset(
    ["abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "hex", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "oct", "ord", "pow", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "zip", "True", "False", "None", "Ellipsis", "NotImplemented"]
    + [
        name
        for name in vars(builtins)
        if isinstance(getattr(builtins, name), type) and issubclass(getattr(builtins, name), BaseException)
    ]
)
_UNSAFE_BUILTINS = frozenset(vars(builtins)) - SAFE_BUILTINS
_INSPECTED = frozenset(
    ["gi_frame", "gi_code", "gi_running", "gi_yieldfrom", "gi_suspended", "cr_frame", "cr_code", "cr_await", "cr_running", "cr_origin", "ag_frame", "ag_code", "ag_await", "ag_running", "tb_frame", "tb_next", "tb_lasti", "tb_lineno", "f_back", "f_builtins", "f_code", "f_globals", "f_lasti", "f_lineno", "f_locals", "f_trace", "f_trace_lines", "f_trace_opcodes", "with_traceback", "add_note", "mro"]
)
_Code = type((lambda: None).__code__)


def is_hermetic(source, code):
    # type: (str, object) -> bool
    """True when executing `code` (compiled from `source`) again in a new namespace is as good as a new process."""
    return "import" not in source and _names_are_safe(code)


def _names_are_safe(code):
    # type: (object) -> bool
    pending = [code]
    while pending:
        code = pending.pop()
        for name in code.co_names:  # type: ignore[attr-defined]
            if name in _UNSAFE_BUILTINS or name[:2] == "__" or name in _INSPECTED:
                return False
        for name in code.co_varnames + code.co_cellvars:  # type: ignore[attr-defined]
            if name[:2] == "__":
                return False
        pending.extend([const for const in code.co_consts if type(const) is _Code])  # type: ignore[attr-defined]
    return True
