"""Variables renamed to x1, x2, … in order of appearance; what the program computes stays the same.

One name, one new name, everywhere: a renaming that maps different names to different new ones cannot change which
variable a name means, whatever the scopes. What must not be renamed, because something else than the scoping rules
reads it, is in `_reserved`; where that cannot be decided from the text (`locals()`, `__code__`) the program is refused.

Not renamed: `f`, attributes, builtins, imports, classes and what their bodies bind, keywords that a method or a
builtin takes, comments. The layout of the text is kept. Whether two programs behave alike is for the caller to check
by running both.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Union

from cruxbox import sentences
from cruxbox.building.calls import function_and_call
from cruxbox.building.edits import Edit, rewrite
from cruxbox.building.scopes import Kind, Resolution, Scope, Site, resolve
from cruxbox.errors import CruxboxError

#: Larger texts are refused: the parser's memory grows with the text. Characters of program and input.
MAX_CHARS = 100_000

_BUILTINS = frozenset(dir(builtins))
# Names and attributes through which a program can read its own variables' names.
_REFLECTION = frozenset({"locals", "globals", "vars", "dir", "eval", "exec", "compile", "inspect", "__builtins__"})
_REFLECTIVE_ATTRIBUTES = frozenset(
    {"__code__", "__globals__", "__name__", "__qualname__", "__annotations__", "__kwdefaults__", "__dict__"}
    | {"f_locals", "f_globals", "f_code", "tb_frame", "gi_frame", "_getframe"}
)

# A place where a variable is named: in an expression or a statement, or before the = of an argument.
_Place = Union[Site, ast.keyword]


class AnonymizeError(CruxboxError):
    """The program or its input cannot be renamed safely; the message says why."""


@dataclass(frozen=True)
class Anonymized:
    """The result of `anonymize`.

    Args:
        code: the renamed program.
        input: the input that goes with it.
        names: old name -> new name, in order of appearance.
    """

    code: str
    input: str
    names: dict[str, str]


def anonymize(code: str, input: str = "", function_name: str = "") -> Anonymized:
    """Rename the variables of a program to x1, x2, … in order of appearance.

    Args:
        code: the program.
        input: the text between the parentheses of the call of the function, or the whole call. Keywords and globals in
            it that belong to the program are renamed too.
        function_name: the function that is called; "" is `f`, or the function of a whole call. It keeps its name.

    Returns:
        The renamed texts. Whether both programs behave alike is for the caller to check by running both.

    Raises:
        AnonymizeError: a text does not parse or is too large, or the program can read the names of its variables.
    """
    if len(code) + len(input) > MAX_CHARS:
        raise AnonymizeError(f"program and input have {len(code) + len(input)} characters; {MAX_CHARS} are allowed")
    try:
        return _anonymize(code, input, function_name)
    except AnonymizeError:
        raise
    except SyntaxError as error:
        raise AnonymizeError(f"does not parse: {error.msg} (line {error.lineno})") from error
    except (RecursionError, MemoryError) as error:
        raise AnonymizeError("is nested too deeply to parse") from error
    except UnicodeEncodeError as error:
        raise AnonymizeError(sentences.surrogate("row", error)) from error
    except ValueError as error:  # a null byte, an f-string that ast.unparse cannot write
        raise AnonymizeError(f"cannot be renamed: {error}") from error


def _anonymize(code: str, input: str, function_name: str) -> Anonymized:
    # The line break ends a trailing comment.
    function, call_text = function_and_call(code, input, function_name, end="\n")
    is_whole = call_text == input.strip()
    tree, call_tree = ast.parse(code), ast.parse(call_text)
    _require_one_call(call_tree, function)
    _refuse_reflection(tree)
    program, call = resolve(tree), resolve(call_tree)
    kept = _reserved(program, call, function)
    sites = [site for site in program.sites if site.name not in kept and _is_ours(site.name, site.scope)]
    ours = {site.name for site in sites}
    in_program: list[_Place] = [*sites, *_keywords(program, program, ours)]
    in_call: list[_Place] = [*_call_sites(program, call, ours), *_keywords(program, call, ours)]
    names = _new_names(sites, _staying(tree, in_program) | _staying(call_tree, in_call))
    new_call = _rename(call_text, call_tree, in_call, names) if in_call else call_text
    return Anonymized(
        code=_rename(code, tree, in_program, names) if in_program else code,
        input=_input(new_call, is_whole) if in_call else input,
        names=names,
    )


def _input(call: str, is_whole: bool) -> str:
    return call if is_whole else call[call.index("(") + 1 : call.rindex(")")].rstrip("\n")


def _require_one_call(tree: ast.Module, name: str) -> None:
    match = tree.body
    if len(match) == 1 and isinstance(match[0], ast.Expr) and isinstance(match[0].value, ast.Call):
        function = match[0].value.func
        if isinstance(function, ast.Name) and function.id == name:
            return
    raise AnonymizeError("the input is not the arguments of one call")


def _refuse_reflection(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _REFLECTION and isinstance(node.ctx, ast.Load):
            raise AnonymizeError(f"uses {node.id!r}, which can read the names of variables")
        if isinstance(node, ast.Attribute) and node.attr in _REFLECTIVE_ATTRIBUTES:
            raise AnonymizeError(f"uses the attribute {node.attr!r}, which can read the names of variables")


# ---- what may be renamed ----------------------------------------------------


def _is_ours(name: str, scope: Scope) -> bool:
    """Whether the program binds what `name` means in `scope`, beyond doubt."""
    binder = scope.binder(name)
    # A module-level variable called like a builtin is the builtin until its assignment has run.
    return binder is not None and not (binder.kind is Kind.MODULE and name in _BUILTINS)


def _reserved(program: Resolution, call: Resolution, function: str) -> set[str]:
    """Names that must stay, because something other than the scoping rules may read them."""
    kept = {function} | program.imported | program.class_names
    kept |= {site.name for site in program.sites if site.name.startswith("__")}  # mangled in classes
    for scope in program.scopes:
        if scope.kind is Kind.CLASS:
            kept |= scope.bound  # attributes
    parameters = {name for scope in program.scopes for name in scope.parameters}
    for resolution in (program, call):
        for node, scope in resolution.calls:
            if not _is_foreign(node, scope, program, resolution) and not _is_own(node, scope, program, resolution):
                # Who is called is not known: every keyword here may be a parameter of the program, or may not.
                for keyword in node.keywords:
                    kept |= parameters if keyword.arg is None else {keyword.arg}
    return kept


def _is_foreign(node: ast.Call, scope: Scope, program: Resolution, where: Resolution) -> bool:
    """Whether the call's keywords go to a builtin or to a method of a builtin type, and no further."""
    function: ast.expr = node.func
    if isinstance(function, ast.Attribute):
        while isinstance(function, ast.Attribute):
            function = function.value
        # `functools.partial(g, a=1)` hands its keywords on; so may a method of the program's own class.
        return not program.class_names and not (isinstance(function, ast.Name) and function.id in program.imported)
    return isinstance(function, ast.Name) and _binder(function.id, scope, program, where) is None


def _is_own(node: ast.Call, scope: Scope, program: Resolution, where: Resolution) -> bool:
    """Whether the call surely goes to one `def` of the program, with keywords that are spelled out."""
    if not isinstance(node.func, ast.Name) or any(keyword.arg is None for keyword in node.keywords):
        return False
    if where is not program and scope.binder(node.func.id) is not None:
        return False  # a lambda's parameter in the input
    return node.func.id in _plain_functions(program)


def _binder(name: str, scope: Scope, program: Resolution, where: Resolution) -> object:
    found = scope.binder(name)
    return found if found is not None or where is program else program.scopes[0].binder(name)


def _plain_functions(program: Resolution) -> set[str]:
    """Names that mean a `def` of the program and nothing else; the def is not decorated and takes no `**keywords`."""
    definitions: set[str] = set()
    others: set[str] = set()
    for site in program.sites:
        node = site.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            (others if node.args.kwarg or node.decorator_list else definitions).add(site.name)
        elif not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            others.add(site.name)
    return definitions - others - program.imported - program.class_names


# ---- renaming ---------------------------------------------------------------


def _staying(tree: ast.Module, places: Iterable[_Place]) -> set[str]:
    """Every identifier of the tree that is not renamed: a new name must not meet it."""
    renamed = {
        (id(place.node), place.attribute, place.index) if isinstance(place, Site) else (id(place), "arg", None)
        for place in places
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        for attribute, value in ast.iter_fields(node):
            values = enumerate(value) if isinstance(value, list) else [(None, value)]
            found.update(one for at, one in values if isinstance(one, str) and (id(node), attribute, at) not in renamed)
    return found


def _new_names(sites: Iterable[Site], taken: set[str]) -> dict[str, str]:
    free = (name for name in (f"x{number}" for number in range(1, 1 << 30)) if name not in taken)
    ordered = sorted(sites, key=lambda site: (site.node.lineno, site.node.col_offset))  # type: ignore[attr-defined]
    return dict(zip(dict.fromkeys(site.name for site in ordered), free))


def _call_sites(program: Resolution, call: Resolution, names: Collection[str]) -> Iterator[Site]:
    """Where the input names a global of the program."""
    for site in call.sites:
        if site.name in names and site.scope.binder(site.name) is None and _is_ours(site.name, program.scopes[0]):
            yield site


def _keywords(program: Resolution, where: Resolution, names: Collection[str]) -> Iterator[ast.keyword]:
    """The keywords of calls that surely go to a function of the program."""
    for node, scope in where.calls:
        if not _is_foreign(node, scope, program, where) and _is_own(node, scope, program, where):
            yield from (keyword for keyword in node.keywords if keyword.arg in names)


def _rename(text: str, tree: ast.Module, places: list[_Place], names: dict[str, str]) -> str:
    edits: list[tuple[Edit, ast.AST]] = []
    for place in places:
        if isinstance(place, Site):
            edits.append((Edit.at(place.node, place.name, names[place.name]), place.node))
            place.rename(names[place.name])
        else:
            old = place.arg or ""
            edits.append((Edit.at(place, old, names[old]), place))
            place.arg = names[old]
    return rewrite(text, edits, tree)
