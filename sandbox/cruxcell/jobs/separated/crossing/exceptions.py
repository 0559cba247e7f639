"""Transfer of exceptions: what is told of one, and one made of what was told."""

import builtins
from _collections import deque  # type: ignore[import-not-found]

from cruxcell.jobs.separated.proxies import remote
from cruxcell.jobs.separated.proxies.operations import mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import ENDS, LINK, QUESTIONS, cancellations
from cruxcell.jobs.separated.proxies.shared_names import is_of_a_package, is_stdlib
from cruxcell.jobs.separated.rules.memory import place_within
from cruxcell.protocol import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Collection  # noqa: F401 - in type comments


def is_builtin(cls):
    # type: (Any) -> bool
    """Is it a class of Python's own that has a name? Any class may say that its module is `builtins`, as those of
    pytest's outcomes do."""
    return id(cls) in _BUILTIN


_BUILTIN = frozenset([id(each) for each in vars(builtins).values() if issubclass(type(each), type)])


def constructor_arguments(error):
    # type: (BaseException) -> tuple[Any, ...] | None
    """What an error of the library is made of, where that is more than its `args`: a file's name, a place in a text."""
    cls = type(error)
    found = error.__reduce__() if is_stdlib(cls) else None
    if type(found) is not tuple or found[1] is error.args:
        return None
    is_maker = found[0] is cls or (_is_of_data(cls) and found[0] == getattr(cls, _OF_DATA))
    return found[1] if is_maker and may_make(found[1], cls) else None


def may_make(arguments, cls):
    # type: (Any, Any) -> bool
    """May a library's error of this class be made of what was told? One of a package may want a dict."""
    if type(arguments) is not tuple or not is_of_a_package(cls):
        return type(arguments) is tuple and all(id(type(each)) in SIMPLEST for each in arguments)
    return _is_of_data(cls) or _is_simple(arguments, 5)


def _is_of_data(cls):
    # type: (Any) -> bool
    """Is it pydantic's ValidationError? It has no `args`, and is made of a title and a dict for each mistake."""
    return any(_OF_DATA in own_of(each) for each in mro_of(cls))


SIMPLEST = frozenset(map(id, (str, bytes, int, type(None))))
_OF_DATA = "from_exception_data"  # what makes it; most versions have no constructor


def more_of(error, of_the_test=False):
    # type: (BaseException, bool) -> tuple[str | None, list[str], tuple[Any, ...]] | None
    """(how it is shown, where its class says that; its notes; its attributes, where the other half has its class and
    does not ask for them) of an error that has any of these."""
    has_own = all(type(error).__repr__ is not each for each in _REPRS)
    found = records.dict_of(error)
    notes = found.get("__notes__")
    notes = [each for each in notes if type(each) is str] if type(notes) is list else []
    own = [item for item in found.items() if _is_field(item, of_the_test)] if found and is_stdlib(type(error)) else []
    own += _kept_in_c(error)
    if not (has_own or notes or own):
        return None
    return records.message_of(error, repr) if has_own else None, notes, tuple(own[:_MOST_FIELDS])


def _kept_in_c(error):
    # type: (BaseException) -> list[tuple[str, object]]
    """What a builtin error keeps outside its `__dict__` (`ImportError.name`), where that is more than it is made of."""
    cls = type(error)
    members = _members(cls)
    if not members:
        return []
    made_of = constructor_arguments(error) or arguments_of(error)
    is_simple = all(id(type(each)) in SIMPLEST for each in made_of)  # others might be asked
    like = _construct(_builtin_of(cls), list(made_of) if is_simple else [])
    found = [(name, _value(member, error)) for name, member in members.items()]
    return [(name, value) for name, value in found if value != _value(members[name], like)]


def _members(cls):
    # type: (Any) -> dict[str, Any]
    """Not of errors that end something, or show memory, nor of groups, which have none that may be set."""
    if issubclass(cls, _KEPT_AS_MADE):
        return {}
    members = [item for each in mro_of(cls) if is_builtin(each) for item in own_of(each).items()]
    return {name: member for name, member in members if type(member) is _Member and name[:1] != "_"}


def members_of_its_own(cls):
    # type: (Any) -> list[str]
    """The names of these that a class of the program's has anew (`errno = 2`, a property), and of a group `derive`."""
    kept = _askable(cls) if issubclass(cls, BaseException) and not is_stdlib(cls) else ()
    if not kept:  # as of nearly every class that crosses
        return []
    named = [name for each in mro_of(cls) if not is_builtin(each) for name in own_of(each) if name in kept]
    return [*dict.fromkeys(named)]


def askable_of(bases, names):
    # type: (tuple[Any, ...], list[str]) -> list[str]
    """Which of the names that `members_of_its_own` told of a class of these bases it may be asked for."""
    kept = _askable(next((each for each in bases if issubclass(each, BaseException)), None))
    return names if kept is None else [each for each in names if each in kept]


def _askable(cls):
    # type: (Any) -> Any
    """Of a group `derive`, by which it is split. Where a SyntaxError is, what shows it reads; None of what is no
    error."""
    if cls is None:
        return None
    return ("derive",) if issubclass(cls, _GROUP) else () if issubclass(cls, SyntaxError) else _members(cls)


def _value(member, error):
    # type: (Any, BaseException) -> Any
    value = member.__get__(error)
    return value if id(type(value)) in SIMPLEST else None


def _builtin_of(cls):
    # type: (Any) -> Any
    """Of several that it is derived from the one whose memory it has: the one that can make it."""
    while not is_builtin(cls):
        cls = _base_of(cls)
    return cls


_base_of = type.__dict__["__base__"].__get__


_Member = type(vars(ImportError)["name"])
_KEPT_AS_MADE = (*ENDS, SystemExit, UnicodeError, getattr(builtins, "BaseExceptionGroup", SystemExit))


def causes_of(error, is_last):
    # type: (BaseException, bool) -> tuple[object, object]
    """What it was raised from, and in the midst of, as `have_causes` reads it: one of the two, as each may have two of
    its own, which would be a million at that depth. `from None` has the second in a tuple, or False."""
    cause, context = (None, None) if is_last else (_CAUSE(error), _CONTEXT(error))
    if cause is not None:
        return cause, None
    if _IS_ALONE(error):
        return None, False if context is None else (context,)
    return None, context


def have_causes(error, cause, context):
    # type: (BaseException, object, object) -> None
    if isinstance(cause, BaseException):
        error.__cause__ = error.__context__ = cause
    elif isinstance(context, BaseException):
        error.__context__ = context
    elif context is False or type(context) is tuple:
        error.__cause__ = None  # it may have had one
        error.__context__ = context[0] if context and isinstance(context[0], BaseException) else None
        error.__suppress_context__ = True


# Asked of the base: a class of the program's may answer for itself.
arguments_of, _CAUSE, _CONTEXT, _IS_ALONE = [
    vars(BaseException)[name].__get__ for name in ("args", "__cause__", "__context__", "__suppress_context__")
]


ANSWERED = "_answered"  # an attribute of a SystemExit that is from the candidate, which has raised it or not
_MOST_FIELDS = 64
_HIDDEN = ("_", "__")
_OURS = ("_remote_", ANSWERED)
_SIMPLE = frozenset(map(id, (str, bytes, int, float, bool, complex, type(None))))
_HOLDING = frozenset(map(id, (list, tuple, set, frozenset, deque)))
_CONTAINING = _HOLDING | {id(dict)}


def _is_field(item, of_the_test):
    # type: (tuple[object, object], bool) -> bool
    """An attribute with a value that holds no object: that may hold the error itself. An error of the test's may have
    an object there (a response, say), and only where that is public: no more than what the program has of any object
    that it is passed. One of the program's would answer in the test for the error."""
    name, value = item
    is_hidden = type(name) is not str or name[: 1 if of_the_test else 2] in _HIDDEN or name.startswith(_OURS)
    may_be = of_the_test and not issubclass(type(value), BaseException) and id(type(value)) not in _CONTAINING
    return not is_hidden and (may_be or _is_simple(value, 5))


def _is_simple(value, depth):
    # type: (Any, int) -> bool
    if type(value) is dict:
        value = [*value.keys(), *value.values()]
    elif id(type(value)) not in _HOLDING:
        return id(type(value)) in _SIMPLE
    return depth > 0 and all(_is_simple(each, depth - 1) for each in value)


def add_more(error, more):
    # type: (Any, object) -> None
    """Give an error what `more_of` told of another."""
    if type(more) is not tuple or len(more) != 3:
        return
    shown, notes, _ = more
    if type(notes) is list and notes and all(type(each) is str for each in notes):
        BaseException.__setattr__(error, "__notes__", notes)
    if type(shown) is str and remote.is_class_of_proxies(type(error)):
        BaseException.__setattr__(error, "_remote_repr", shown)


def renewed(error, cls, made, before):
    # type: (Any, Any, Any, Collection[str]) -> bool
    """An error that is here has what the other half says of it by now: what `made` has, which was made of that, of the
    class `cls`. `before`: the attributes that it has had from there. Not one that has another text by that."""
    is_of_proxies = remote.is_class_of_proxies(cls)
    text = "" if is_of_proxies else records.message_of(made)
    if type(error) is not type(made):  # each may be of a class made for its text
        is_alike = type(error) is not cls and type(made) is not cls and issubclass(type(error), cls)
        if not is_alike or (not is_of_proxies and records.message_of(error) != text):
            return False
    own, told = records.dict_of(error), records.dict_of(made)
    for name in before:
        if name not in told:
            own.pop(name, None)
    own.update(told)
    for member in _members(type(made)).values():
        _set_member(member, error, made)
    _set_args(error, arguments_of(made))
    return is_of_proxies or records.message_of(error) == text


def _set_member(member, error, made):
    # type: (Any, BaseException, BaseException) -> None
    value = member.__get__(made)
    if value is None and member.__get__(error) is not None:
        member.__delete__(error)  # an OSError would show a None that is set
    elif value is not None and id(type(value)) in SIMPLEST:
        member.__set__(error, value)


def _add_fields(error, more, of_the_test):
    # type: (Any, object, bool) -> Any
    fields = more[2] if type(more) is tuple and len(more) == 3 else ()
    if type(fields) is not tuple:
        return error
    named = [each for each in fields if type(each) is tuple and len(each) == 2 and _is_field(each, of_the_test)]
    members = _members(type(error)) if named else {}
    for name, value in named:
        if name in members and id(type(value)) in SIMPLEST:
            members[name].__set__(error, value)
    named = [each for each in named if each[0] not in members]
    if not remote.is_class_of_proxies(type(error)):
        records.dict_of(error).update(named)
    return error


_REPRS = (BaseException.__repr__, getattr(builtins, "BaseExceptionGroup", Exception).__repr__)
_set_args = vars(BaseException)["args"].__set__


def make_exception(cls, arguments, text, made_of=None, more=None, of_the_test=False):  # noqa: PLR0917 - as it is told
    # type: (Any, list[Any], str, tuple[Any, ...] | None, object, bool) -> Any
    """An exception of this class with these `args`, whose text is `text`; made of `made_of` where that is more, and
    with the attributes that `more_of` told."""
    error = _add_fields(_construct(cls, arguments if made_of is None else list(made_of)), more, of_the_test)
    _set_args(error, tuple(arguments))
    if remote.is_class_of_proxies(cls):  # it is not asked: a class of the script's may have a text of its own
        _has_text(error, text)
    elif not _is_of_data(type(error)) and records.message_of(error) != text:  # whose text may have to be asked for
        told = {"__str__": lambda _self: text, "__module__": cls.__module__}
        error = _add_fields(_construct(type(cls.__name__, (type(error),), told), arguments), more, of_the_test)
        _set_args(error, tuple(arguments))
    return error


def _has_text(error, text):
    # type: (BaseException, str) -> None
    """Until this half asks for anything more."""
    BaseException.__setattr__(error, "_remote_text", text)
    BaseException.__setattr__(error, "_remote_asked", QUESTIONS[0])


def _construct(cls, arguments):
    # type: (Any, list[Any]) -> Any
    # Of a class made here the other half is asked for what a library's own __init__ would set.
    is_made = remote.is_class_of_proxies(cls)
    kind = _builtin_of(cls) if is_made else cls
    try:
        if _is_of_data(kind):
            return getattr(kind, _OF_DATA)(*arguments)
        error = kind.__new__(cls, *arguments)
        kind.__init__(error, *arguments)
    except Exception:  # it wants other arguments than its `args`
        error = _bare(kind, cls) if not issubclass(cls, _GROUP) else _group(kind, cls, arguments)
    place_within(error)
    return error


def _bare(kind, cls):
    # type: (Any, Any) -> Any
    """One made of nothing; where the class wants to be told more, one of its builtin kind."""
    builtin = _builtin_of(cls)
    for each in (kind, builtin):
        try:
            return each.__new__(cls)
        except Exception:
            pass  # another may
    return builtin.__new__(type(cls.__name__, (builtin,), {"__module__": cls.__module__}))


def _group(kind, cls, arguments):
    # type: (Any, Any, list[Any]) -> Any
    """A class of groups may be told more than message and errors, which come first."""
    try:
        return kind.__new__(cls, *arguments[:2])
    except Exception:
        return kind.__new__(cls, "", [Exception()])


_GROUP = getattr(builtins, "BaseExceptionGroup", ())


class _Ended(Exception):
    """In the place of what would end an iteration: no error that a script expects by its class."""


class _Exited(BaseException):
    """In the place of a GeneratorExit or SystemExit, which is no Exception."""


def harmless(cls, is_question):
    # type: (Any, bool) -> Any
    """The class of an exception that the candidate gives in an answer, or to what the script has passed
    (`is_question`), and does not raise. Whoever raises it in the test's process (a future, say) ends nothing by that
    which would leave the test content. A SystemExit in an answer is marked."""
    ends = ENDS + (SystemExit,) * is_question  # type: tuple[type[BaseException], ...]
    if not issubclass(cls, ends if LINK[0].has_cancelled else ends + cancellations()):
        return cls
    if cls not in _stand_ins:
        stands = {"__class__": property(lambda _self: cls), "value": property(_first), "code": property(_first)}
        _stand_ins[cls] = type(cls.__name__, (_Ended if issubclass(cls, Exception) else _Exited,), stands)
    return _stand_ins[cls]


_stand_ins = {}  # type: dict[Any, type[BaseException]]


def _first(error):
    # type: (BaseException) -> object
    return error.args[0] if error.args else None


def answered(error, may_stop, is_expected, may_be_cancelled=True):
    # type: (BaseException, Any, Callable[[list[type]], bool], bool) -> BaseException
    """What is raised where the candidate has raised `error`; `may_stop`: what may end an iteration. `is_expected`: does
    the script say, where it is, that it expects one of these classes? `may_be_cancelled`: it means what says that it
    was cancelled. A TaskGroup takes a task that ends so for one that is well."""
    is_end = isinstance(error, ENDS) and not isinstance(error, may_stop)
    is_end = is_end and not is_expected([each for each in mro_of(type(error)) if issubclass(each, ENDS)])
    if is_end or (not may_be_cancelled and isinstance(error, cancellations())):
        kind = _Ended if isinstance(error, Exception) else _Exited
        return kind("the candidate raised %s" % type(error).__name__)
    return marked(error)  # type: ignore[no-any-return]


def marked(value):
    # type: (Any) -> Any
    """A SystemExit that has come from the other half, or come back from there: a script does not end well by it."""
    if issubclass(type(value), SystemExit):
        BaseException.__setattr__(value, ANSWERED, True)
    return value
