"""Operations on objects of the other process, and those that the test may ask the candidate for.

The rule for the test: the candidate is never asked a question that holds the answer. `==`, `<`, `in`, `-` and the like
would hand it the value that is expected, and let it say yes. So `==` is identity, `in` goes through the items, an order
there is none, and arithmetic is only between two objects of the candidate and only gives another one. Objects that the
test has made by calling their class say more (`proxy_classes`).
"""

import _operator

from cruxcell.jobs.separated.proxies.marks import is_marked, is_set_by_the_script, marks

# Of a class, what no metaclass is asked for.
mro_of = type.__dict__["__mro__"].__get__
own_of = type.__dict__["__dict__"].__get__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

BESIDES = "_remote_besides"  # an attribute of a proxy's class: bases that it is one of and could not be made with here


def kinds_of(cls):
    # type: (Any) -> list[type]
    """What a class is derived from, also where it stands for one of the other half's and could not be made so here."""
    found = list(mro_of(cls))
    for each in found:
        for base in own_of(each).get(BESIDES, ()):
            found += [one for one in mro_of(base) if not any(one is other for other in found)]
    return found


def _by_name(name):
    # type: (str) -> Any
    return lambda value, *arguments: _bound(value, name)(*arguments)


def _bound(value, name):
    # type: (object, str) -> Any
    """A special method as Python itself looks it up: that of a mock's class is made when it is bound."""
    for each in mro_of(type(value)):
        if name in own_of(each):
            found = own_of(each)[name]
            bind = getattr(type(found), "__get__", None)
            return found if bind is None else bind(found, value, type(value))
    raise AttributeError("%r object has no attribute %r" % (type(value).__name__, name))


def _hash(value):
    # type: (object) -> int
    return hash(value)


def _array_of(value):
    # type: (Any) -> Any
    """The array of numpy's that an object says it is, or shows the memory of."""
    has_method = any("__array__" in own_of(each) for each in mro_of(type(value)))
    return _bound(value, "__array__")() if has_method else __import__("numpy").asarray(value)


# Special methods that a proxy's class has if its object's class has them -> how the owner does them.
ASKED = {
    "__call__": None,
    "__iter__": iter,
    "__next__": next,
    "__reversed__": reversed,
    "__len__": len,
    "__length_hint__": _by_name("__length_hint__"),
    "__bool__": bool,
    "__getitem__": _operator.getitem,
    "__setitem__": _operator.setitem,
    "__delitem__": _operator.delitem,
    "__str__": str,
    "__repr__": repr,
    "__format__": format,
    "__bytes__": bytes,
    "__missing__": _by_name("__missing__"),
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": _operator.index,
    "__fspath__": _by_name("__fspath__"),
    "__array__": _array_of,
    "__enter__": _by_name("__enter__"),
    "__exit__": _by_name("__exit__"),
    "__await__": _by_name("__await__"),
    "__aiter__": _by_name("__aiter__"),
    "__anext__": _by_name("__anext__"),
    "__aenter__": _by_name("__aenter__"),
    "__aexit__": _by_name("__aexit__"),
    "__copy__": _by_name("__copy__"),
    "__deepcopy__": _by_name("__deepcopy__"),
}  # type: dict[str, Any]
# What number an object is: asked once, as long as nothing else is asked of the candidate in between. Or what a test
# uses several times in one sum (`a * x + b * x ** 2`) could be another number each time. For so many seconds: a thread
# of the program's may fill what a test asks for its length until it has one.
_ALWAYS = float("inf")
STEADY = {"__int__": _ALWAYS, "__float__": _ALWAYS, "__complex__": _ALWAYS, "__index__": _ALWAYS}  # type: dict[str, float]
STEADY.update({"__len__": 0.05, "__bool__": 0.05})
# What value of the library's an object is (a set), which is asked for in parts.
VALUE = "=="
STEADY[VALUE] = 0.05
METHODS = frozenset(["send", "throw", "close"])  # of generators and coroutines: of the class, so known for some

# Between two objects of the candidate; what comes of it has to be another. Each is the method alone: that the other
# operand's is tried after one that gives NotImplemented, and `+` where there is no `+=`, is for who has asked to do.
_OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "matmul",
]
_FORMS = ["__%s__", "__r%s__", "__i%s__"]
ARITHMETIC = {
    name: _by_name(name)
    for name in [*[form % each for form in _FORMS for each in _OPERATORS], "__neg__", "__pos__", "__invert__"]
}  # type: dict[str, Any]

# What the test puts into a class of the program (a property, a PropertyMock) gives and takes an attribute there.
DESCRIPTORS = frozenset(["__get__", "__set__", "__delete__"])

# What a candidate may ask of the test's objects besides: they answer for themselves.
OF_THE_TEST = {
    "__eq__": _operator.eq,
    "__ne__": _operator.ne,
    "__lt__": _operator.lt,
    "__le__": _operator.le,
    "__gt__": _operator.gt,
    "__ge__": _operator.ge,
    "__contains__": _operator.contains,
    "__hash__": _hash,
    "__abs__": abs,
    "__round__": round,
    "__divmod__": _by_name("__divmod__"),
    "__rdivmod__": _by_name("__rdivmod__"),
    "__trunc__": _by_name("__trunc__"),
    "__floor__": _by_name("__floor__"),
    "__ceil__": _by_name("__ceil__"),
    "__instancecheck__": _by_name("__instancecheck__"),
    "__subclasscheck__": _by_name("__subclasscheck__"),
    **{name: _by_name(name) for name in DESCRIPTORS},
}  # type: dict[str, Any]

# How the names of methods begin by which sklearn asks an estimator what it is: none of them is told a value.
OF_ESTIMATORS = "__sklearn_"

# What the code of a package, which both halves have, asks of its own objects in the other, by names with an
# underscore: `ast.walk` asks a node what its parts are; functions of networkx read nodes and edges of a graph; an
# estimator that is fitted for another enters into the context of that, which says what is part of what.
_OF_PACKAGES = {
    "_ast": frozenset(["_attributes", "_fields"]),  # up to Python 3.8
    "ast": frozenset(["_attributes", "_fields"]),
    "networkx": frozenset(["_adj", "_node", "_pred", "_succ"]),
    "sklearn": frozenset(["_children_map", "_parent_callback_ctx", "_propagation_depth"]),
}

# Before the name of a method that a class says it has none of: `__hash__ = None`.
NONE = "-"
MAY_BE_NONE = frozenset([*ASKED, "__contains__", "__hash__"])

OPERATORS = frozenset([*ARITHMETIC, "__divmod__", "__rdivmod__"])

SPECIAL = {}  # type: dict[str, Any]
SPECIAL.update(ASKED)
SPECIAL.update(ARITHMETIC)
SPECIAL.update(OF_THE_TEST)


def offered(cls):
    # type: (type) -> list[str]
    """The special methods of a class that `object` does not have, or has in another way. Not those of its own class:
    every class can be called, which says nothing of its objects."""
    has = {}  # type: dict[str, Any]
    for each in reversed(mro_of(cls)):
        has.update(own_of(each))
    found = [name for name in _NAMES if name in has and has[name] is not object.__dict__.get(name)]
    # To compare by `__eq__ = None` raises an error, which the class says like any other.
    found = [name for name in found if has[name] is not None or name in ("__eq__", "__ne__")]
    found += [NONE + name for name in _NAMES if name in has and has[name] is None and name in MAY_BE_NONE]
    # By its items what is written in Python is iterable, and otherwise a sequence, which has a length: no re.Match.
    if type(has.get("__getitem__")) is _OF_C and not {"__iter__", "__len__"} & has.keys():
        found.append(NONE + "__iter__")
    if has.get("__array_interface__") is not None and "__array__" not in found:  # as an image of PIL's has
        found.append("__array__")
    return found


_NAMES = (*SPECIAL, *METHODS)
_OF_C = type(int.__add__)


# ---- what the candidate may do to the test's objects -----------------------------------------------------------------

_FUNCTION = type(offered)
_METHOD = type(offered.__get__(1))  # type: Any
_BUILTIN = type(len)
_CODE = type(offered.__code__)
_MODULE = type(_operator)
_MOCKS = "unittest.mock"
_SCRIPT = "__main__"  # what classes of a script say their module is
_FORMATTING = frozenset(["format", "format_map", "vformat", "get_field", "mro"])  # a format may name any attribute
_OF_NAMED_TUPLES = frozenset(["_asdict", "_field_defaults", "_fields", "_make", "_replace"])
_PARTS_OF_A_RUN = ("gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_", "im_")


def is_public(name):
    # type: (str) -> bool
    """Does an attribute of this name lead to nothing but what its object is there for?"""
    return not name.startswith(("_", *_PARTS_OF_A_RUN)) and name not in _FORMATTING


def may_get(target, name):
    # type: (object, str) -> bool
    """May the candidate read this attribute of an object of the test? Never what leads to the script."""
    target = getattr(target, "__func__", target) if type(target) is _METHOD else target
    kind = type(target)
    if name.startswith("_"):
        is_named = name in _OF_NAMED_TUPLES and issubclass(class_of(target), tuple)
        has_data = name == "__dict__" and not is_class(target)
        has_data = has_data and (kind is _FUNCTION or not _stands_for_a_function(target))
        is_asked_for = name.startswith(OF_ESTIMATORS) or name in ("__name__", "__qualname__", "__doc__", "__module__")
        return (
            is_named
            or has_data
            or is_asked_for
            or any(name in _OF_PACKAGES.get(each, ()) for each in _packages(target))
        )
    if not is_public(name) and not _is_of_the_script(target, name) and not _formats_records(target, name):
        return False
    if _of_a_framework(target, name) or _decides_for_the_script(target, name):
        return False
    if kind is _MODULE or kind is _CODE or (kind.__module__ == "builtins" and kind.__name__ in ("frame", "traceback")):
        return False
    # An object of the script's own class shows what it has.
    if is_a_mock(target):
        return _is_mocked(target, name)
    is_free = is_class(target) or not _stands_for_a_function(target) or not _wraps(target)
    return is_free or is_marked(target, name) or is_set_by_the_script(target, name)


def _formats_records(target, name):
    # type: (Any, str) -> bool
    """By a format of its own, which it was made with. It is told none."""
    return name == "format" and any(each.__module__ == "logging" for each in mro_of(type(target)))


def _stands_for_a_function(target):
    # type: (Any) -> bool
    """Is it called, and of no class of the script's own?"""
    return callable(target) and type(target).__module__ != _SCRIPT


# Where objects are from that are functions, or have one and what it is given, as `functools.partial` has.
_WRAPPERS = frozenset(["builtins", "types", "functools", "operator", "contextlib", "weakref"])


def _wraps(target):
    # type: (Any) -> bool
    """Does it stand for a function? One would show what it was given. A connection to sqlite, which can be called, does
    not, nor does a tag of bs4, which holds others: of these, each is looked at when it is asked for something."""
    kinds = [each for each in mro_of(type(target)) if each is not object]
    held = getattr(target, "__dict__", {}).values()
    functions = [each for each in held if callable(each) and not is_class(each)]
    return any(each.__module__ in _WRAPPERS for each in kinds) or not all(_is_akin(target, each) for each in functions)


def _is_akin(one, other):
    # type: (object, object) -> bool
    """Have their classes one of the same library in common?"""
    common = [each for each in mro_of(type(one)) if any(each is its for its in mro_of(type(other)))]
    return any(package_of(each) == package_of(type(one)) for each in common)


def data_of(target):
    # type: (Any) -> dict[str, Any]
    """What `vars` tells the candidate of an object of the test's: the data that it may read by name."""
    return {name: value for name, value in vars(target).items() if may_get(target, name)}


def _of_a_framework(target, name):
    # type: (Any, str) -> bool
    """Does a class of a framework for tests define this attribute, other than to assert something? A test case may be
    told what is equal, a fixture sets what it is told to, and what was raised leads to the script's variables."""
    cls = class_of(target)
    owner = next((each for each in mro_of(cls) if name in own_of(each)), object)
    module = str(own_of(owner).get("__module__"))
    return module.partition(".")[0] in FRAMEWORKS and module != _MOCKS and not name.startswith(_ASSERT)


# Of objects of these packages, what would have the candidate decide whether a statement of the script's fails or runs
# at all, or shows what the script is about to run: an exit that suppresses what fails, tasks that are none.
_DECIDING = {
    "asyncio": frozenset(["set_default_executor", "set_task_factory"]),
    "contextlib": frozenset(["push", "push_async_exit"]),
    "threading": frozenset(["args", "function", "kwargs"]),
}


def _decides_for_the_script(target, name):
    # type: (Any, str) -> bool
    return any(name in _DECIDING.get(each, ()) for each in _packages(target))


def _packages(target):
    # type: (object) -> list[str]
    """Those that its classes are of."""
    return list(map(package_of, mro_of(class_of(target))))


def package_of(cls):
    # type: (Any) -> str
    """The package that a class says it is of, which need not be a text."""
    return str(cls.__module__).partition(".")[0]


FRAMEWORKS = frozenset(["unittest", "pytest", "_pytest", "pytest_mock", "doctest"])
_ASSERT = ("assert", "fail", "subTest")


def _is_mocked(mock, name):
    # type: (Any, str) -> bool
    """An attribute that a mock makes up or was given: not what it tells or can be told about itself."""
    found = mock.__dict__.get(name)
    tells = type(found).__module__ == _MOCKS and isinstance(found, list)  # of its calls
    owned = [own_of(each)[name] for each in mro_of(type(mock)) if each.__module__ != _SCRIPT and name in own_of(each)]
    return not tells and all(map(is_a_mock, owned))  # a PropertyMock, say, which the script has set there


def is_class(value):
    # type: (object) -> bool
    """By its type: `isinstance` asks the object, too, which a lazy one of a library answers by what it then makes."""
    return issubclass(type(value), type)


def class_of(value):
    # type: (Any) -> Any
    """A class itself, and of anything else its class."""
    return value if is_class(value) else type(value)


def is_a_mock(target):
    # type: (object) -> bool
    """One of the library's, or of a class that the script derives from it."""
    return any(each.__module__ == _MOCKS for each in mro_of(type(target)))


def stands_for_any_function(target):
    # type: (object) -> bool
    """A mock of the library's that is called: not what equals everything, nor a note of a call."""
    return any(each.__module__ == _MOCKS and each.__name__ == "CallableMixin" for each in mro_of(type(target)))


def _is_of_the_script(target, name):
    # type: (Any, str) -> bool
    """Does a class of the script define this attribute, or is it data of an instance of one?"""
    cls = class_of(target)
    for each in cls.__mro__:
        if name in own_of(each):
            return bool(each.__module__ == _SCRIPT)
    return bool(cls.__module__ == _SCRIPT) and not is_class(target)


def shown(target):
    # type: (object) -> str
    """What the candidate is told when it prints an object of the test: a partial function or a method would show what
    it was given, or whose it is."""
    kind = type(target)
    is_plain = is_class(target) or kind is _FUNCTION or kind is _BUILTIN or not _stands_for_a_function(target)
    return "" if is_plain or not _wraps(target) else object.__repr__(target)


_OF_DATA = frozenset(map(id, (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)))


def may_set(target, name, value=...):
    # type: (object, str, object) -> bool
    """May the candidate set it? Data of an instance; not what the test's own class defines and relies on. A mock would
    let itself be given what answers in the place of its own mocks, or another list of its calls."""
    kind = type(target)
    if kind is _FUNCTION or kind is type:
        return is_public(name) and marks(target, name, value)
    if name == "__dict__" or not may_get(target, name) or is_class(target) or kind.__module__ == "builtins":
        return False
    if is_a_mock(target):
        is_free = _is_mocked(target, name) and not is_a_mock(target.__dict__.get(name))
        return is_free and id(type(value)) in _OF_DATA
    for cls in kind.__mro__:
        if name in own_of(cls):
            return not callable(own_of(cls)[name])
    return True
