"""pyplot's figures, of which each half of a script has its own.

A figure is where it was made, and both halves have the same of them: the script has the program's by `plt.gcf()`,
counts and closes them, and the program goes on with what the script has begun (`plt.figure()`, `plt.clf()`) or has
passed to it. What the script has drawn for itself it alone has, as that may be what is expected.

The test's half tells before a question what the script has closed, begun and passed since the last one. What figures
the program has it asks only when the script, or pyplot for it, looks at pyplot's figures after a question.
"""

import sys
from _collections import OrderedDict  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable  # noqa: F401 - in type comments

# By which of its names a script has pyplot.
_WORDS = frozenset(["matplotlib.pyplot", "pyplot", "plt", "pylab"])
_HELPERS = "matplotlib._pylab_helpers"
_MOST = 256  # figures
_LOOKS = (
    "__contains__", "__getitem__", "__iter__", "__len__", "__reversed__", "clear", "get", "items", "keys",
    "move_to_end", "pop", "popitem", "values",
)  # fmt: skip
_OF_BARE_AXES = 10  # spines, axes, titles and background


class _Canvas:
    """Of a figure of the other half's."""

    def __init__(self, figure):
        # type: (Any) -> None
        self.figure = figure

    def __getattr__(self, name):
        # type: (str) -> Any
        return getattr(self.figure.canvas, name)

    def mpl_disconnect(self, _number):
        # type: (object) -> None
        pass


class _Manager:
    """What pyplot has for a figure of the other half's."""

    _cidgcf = 0
    toolbar = None

    def __init__(self, num, figure):
        # type: (int, Any) -> None
        self.num, self.canvas = num, _Canvas(figure)

    def get_window_title(self):
        # type: () -> str
        return str(self.canvas.figure.get_label()) or "Figure %d" % self.num

    def set_window_title(self, _title):
        # type: (object) -> None
        pass

    show = destroy = full_screen_toggle = resize = lambda *_: None


class _Known(OrderedDict):  # type: ignore[misc]
    """In the place of pyplot's own: whoever looks into it finds what the program has by then. The program's manager of
    a figure (`plt.figure(theirs)`) has no place in it, but what stands for that."""

    look = staticmethod(lambda: None)
    is_theirs = staticmethod(lambda _manager: False)  # type: Any

    def __setitem__(self, num, manager):
        # type: (int, Any) -> None
        if not self.is_theirs(manager):
            OrderedDict.__setitem__(self, num, manager)
        elif num not in self:
            OrderedDict.__setitem__(self, num, _Manager(num, manager.canvas.figure))


def _looking(name):
    # type: (str) -> Any
    method = getattr(OrderedDict, name)

    def looks(self, *arguments, **keywords):
        # type: (Any, Any, Any) -> Any
        self.look()
        return method(self, *arguments, **keywords)

    return looks


for _each in _LOOKS:
    setattr(_Known, _each, _looking(_each))
_own_items, _own_move, _own_get = OrderedDict.items, OrderedDict.move_to_end, OrderedDict.get


class SharedFigures:
    """Of the test's half. `names`: those in the script."""

    def __init__(self, link, names):
        # type: (Any, Iterable[str]) -> None
        self._link = link
        self.is_needed = not _WORDS.isdisjoint(names)
        self.is_old = True  # what is known of the program's figures
        self._known = None  # type: Any
        self._both = {}  # type: dict[int, Any]  # the managers that stand here for what both have
        self._passed = set()  # type: set[int]  # of these, the script's own that the program has itself
        self._order = []  # type: list[int]

    def given(self, values):
        # type: (list[Any]) -> list[Any]
        """(numbers that the script has closed, those of figures that it has begun, numbers and figures that it passes,
        which of all is the current one) if any of that is new. `values`: what the program is about to be given."""
        if not self._is_there():
            return []
        present = dict(_own_items(self._known))
        closed = [num for num, manager in self._both.items() if present.get(num) is not manager]
        begun, passed = [], []  # type: list[int], list[Any]
        for num in closed:
            self._forget(num)
        for num, manager in list(present.items())[:_MOST]:
            if type(manager) is _Manager or num in self._passed or type(num) is not int:
                continue
            figure = manager.canvas.figure
            if self._is_passed(figure, values):
                self._passed.add(num)
                passed += [num, figure]
            elif num in self._both or not _is_bare(figure):
                continue
            else:
                begun.append(num)
            self._both[num] = manager
        current = next(reversed(present), None)
        current = current if current in self._both else None
        is_new = current is not None and self._order[-1:] != [current]
        if not (closed or begun or passed or is_new):
            return []
        order = [num for num in self._order if num in self._both and num != current]
        self._order = order if current is None else [*order, current]
        return [closed, begun, passed, current]

    def _is_there(self):
        # type: () -> bool
        """Has the script pyplot by now, of a version that keeps its figures so?"""
        if self._known is None:
            owner = getattr(sys.modules.get(_HELPERS), "Gcf", None)  # type: Any
            if type(getattr(owner, "figs", None)) is OrderedDict:
                self._known = _Known(owner.figs)
                self._known.look, self._known.is_theirs = self.look, self._is_theirs
                owner.figs = self._known
        return self._known is not None

    def _is_theirs(self, manager):
        # type: (Any) -> bool
        return issubclass(type(type(manager)), self._link.objects.class_of_proxies)

    def _is_passed(self, figure, values):
        # type: (Any, list[Any]) -> bool
        own = [figure, *figure.axes]
        return any(each in self._link.objects.shown or any(each is value for value in values) for each in own)

    def _forget(self, num):
        # type: (int) -> None
        self._both.pop(num, None)
        self._passed.discard(num)

    def look(self):
        # type: () -> None
        """Have what the program has by now."""
        if not self.is_old or self._link.threads.reads():
            return
        self.is_old = False
        kind, told = self._link.exchange("figures", [None])
        self.is_old = False  # that was a question, too
        self._take(told if kind == b"v" and type(told) is list else [])

    def _take(self, told):
        # type: (list[Any]) -> None
        theirs = {num: figure for num, figure in zip(told[0::2], told[1::2]) if type(num) is int}
        for num in [num for num in self._both if num not in theirs]:
            self._forget(num)
            OrderedDict.pop(self._known, num, None)
        for num, figure in list(theirs.items())[:_MOST]:
            manager = _own_get(self._known, num)
            if figure is None or (manager is not None and manager.canvas.figure is figure):
                continue
            if manager is not None and type(manager) is not _Manager and not self._gives_way(num, manager):
                self._forget(num)
            elif _is_a_figure(figure):
                self._both[num] = made = _Manager(num, figure)
                OrderedDict.__setitem__(self._known, num, made)
        order = [num for num in theirs if num in self._both]
        if order != self._order:
            self._order = order
            for num in order:
                _own_move(self._known, num)

    def _gives_way(self, num, manager):
        # type: (int, Any) -> bool
        """May the program's figure stand in the place of the script's own? Where the script has but begun it."""
        return num in self._both and num not in self._passed and _is_bare(manager.canvas.figure)


def _is_a_figure(value):
    # type: (object) -> bool
    return isinstance(value, sys.modules["matplotlib.figure"].Figure)


def _is_bare(figure):
    # type: (Any) -> bool
    """Is nothing drawn there?"""
    others = [each for each in figure.get_children() if each is not figure.patch and each not in figure.axes]
    return not others and len(figure.axes) < 2 and all(map(_are_bare, figure.axes))


def _are_bare(axes):
    # type: (Any) -> bool
    texts = axes.title, axes.xaxis.label, axes.yaxis.label
    return len(axes.get_children()) == _OF_BARE_AXES and not any(each.get_text() for each in texts)


class ProgramFigures:
    """Of the candidate's half."""

    def __init__(self):
        # type: () -> None
        self._begun = {}  # type: dict[int, Any]

    def have(self, _target, closed, begun, passed, current):
        # type: (object, list[int], list[int], list[Any], Any) -> None
        """See `SharedFigures.given`."""
        pyplot, helpers = sys.modules.get("matplotlib.pyplot"), sys.modules.get(_HELPERS)  # type: Any, Any
        if pyplot is None or helpers is None:
            return
        known = helpers.Gcf
        for num in closed:
            known.destroy(num)
        for num in begun:
            self._begun[num] = pyplot.figure(num)
        for num, figure in zip(passed[0::2], passed[1::2]):
            known.destroy(num)
            known.set_active(_Manager(num, figure))
        if current in known.figs:
            known.set_active(known.figs[current])

    def figures(self, _target):
        # type: (object) -> list[Any]
        """Numbers and figures, the current one last; None for one that the script has begun, and the program has not
        drawn on."""
        helpers = sys.modules.get(_HELPERS)  # type: Any
        told = []  # type: list[Any]
        for num, manager in helpers.Gcf.figs.items() if helpers is not None else ():
            figure = manager.canvas.figure
            is_begun = id(figure) == id(self._begun.get(num))
            told += [num, None if is_begun and len(figure.get_children()) == 1 else figure]
        return told
