"""Groups checks by program, drops duplicates, splits the rest into requests, and matches responses to positions.

The theory: a caller's check has a *position* in the flat list of everything that was added. Positions that ask the same
thing of the same program share one *item*. Items of one program and one set of options form a *group*. An item is
waiting (in its group's queue), in flight (in a *slice*: the part of a group that travels in one request), cooling (it
met a failure of the sandbox and is sent again later) or answered. Ids on the wire are counters, so a caller's ids never
travel and may be anything.

Pure: no socket, no clock, no thread.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxbox import sentences, wire
from cruxbox.arguments import shown
from cruxbox.errors import InvalidRequest, ServerError
from cruxbox.model import Assurance, Check, Isolation, Outcome, Task, Verdict

Answer = tuple[int, Verdict]


@dataclass(frozen=True)
class Sizes:
    """How large a request may be: `checks` and `bytes` for an ordinary one, twice the program of its first checks where
    that is more, `message_bytes` for a single huge check.

    `message_bytes` is what a server takes by default, less some room for what stands around the texts.
    """

    checks: int = 256
    bytes: int = 1 << 20
    message_bytes: int = (16 << 20) - (1 << 12)


class _Group:
    """The items of one program under one set of options."""

    __slots__ = ("items", "key", "open", "options", "program", "separated", "setting", "size", "waiting")

    def __init__(self, key: tuple[str, int, int], task: Task, options: Any | None) -> None:
        self.key = key
        self.program = task.program
        self.options = options
        self.setting = task
        self.separated = task.require_assurance is Assurance.SEPARATED
        self.size = 64 + wire.text_size(task.program) + wire.setting_size(task)
        self.items: dict[tuple[Any, ...], _Item] = {}
        self.waiting: deque[_Item] = deque()
        self.open = 0


class _Item:
    """One distinct check and every position that asks for it."""

    __slots__ = ("attempts", "body", "check", "errors", "group", "key", "positions", "rest", "size")

    def __init__(self, group: _Group, key: tuple[Any, ...], check: Check) -> None:
        self.group = group
        self.key = key
        self.check = check
        self.size = wire.check_size(check)
        self.positions: list[tuple[int, str, str]] = []
        self.body: wire.VerdictBody | None = None
        self.rest = ""  # of a detail that begins with ids; each position has its own
        self.attempts = 0
        self.errors = 0

    def verdict(self, task_id: str, check_id: str, body: wire.VerdictBody) -> Verdict:
        """The verdict for one position."""
        if self.rest:
            body = (*body[:_DETAIL], f"{sentences.place(task_id, check_id)}: {self.rest}", *body[_DETAIL + 1 :])
        return wire.verdict(task_id, check_id, body)


class _Slice:
    """Items of one group in one request on one stream; an answered item leaves None behind."""

    __slots__ = ("items", "left", "stream")

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.items: list[_Item | None] = []
        self.left = 0


class _OptionSets:
    """Numbers the sets of options that occur. There are few, and most tasks have those of the task before."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._last: tuple[Any, ...] = ()
        self._found: tuple[int, Any | None] = (0, None)

    def find(self, task: Task) -> tuple[int, Any | None]:
        """The number of the options of `task`, and their pb.Options (None for the defaults)."""
        key = wire.options_key(task)
        if key != self._last:
            options = wire.encode_options(task)
            self._found = self._numbers.setdefault(key, len(self._numbers)), options
            self._last = key
        return self._found


def iterator_of(tasks: Iterable[Task]) -> Iterator[Task]:
    """An iterator of the caller's tasks. InvalidRequest for what has none, such as a single task."""
    try:
        return iter(tasks)
    except TypeError:
        raise InvalidRequest(f"tasks must be a list or the like of Task objects, not {shown(tasks)}.") from None


class Batch:
    """Everything that was asked and is not yet answered.

    Args:
        sizes: bounds of a request.
        sandbox_retries: how often an item that met a SANDBOX_ERROR is sent again before that is its verdict.
        remember: keep answered items, so that a later duplicate is answered at once; without it memory stays bound
            by what is open.
        interactive: the priority of tasks that name none; otherwise they are bulk work.
    """

    def __init__(
        self,
        sizes: Sizes = Sizes(),
        *,
        sandbox_retries: int = 2,
        remember: bool = True,
        interactive: bool = False,
    ) -> None:
        self._sizes = sizes
        self._sandbox_retries = sandbox_retries
        self._remember = remember
        self._interactive = interactive
        self._groups: dict[tuple[str, int, int], _Group] = {}
        self._options = _OptionSets()
        self._ready: deque[_Group] = deque()
        self._slices: dict[str, _Slice] = {}
        self._answers: list[Answer] = []
        self._cooling: list[_Item] = []
        self._counter = 0
        self._tasks = 0
        self.positions = 0
        self.open_positions = 0
        self.open_bytes = 0
        self.distinct = 0
        self.waiting = 0
        self.flying = 0
        self.in_flight: dict[int, int] = defaultdict(int)

    # ---- in -------------------------------------------------------------

    def add(self, task: Task) -> None:
        """Take in `task`: its checks get the next positions. InvalidRequest if it cannot be asked."""
        self._tasks += 1
        if not isinstance(task, Task):  # None too: a source that forgot to return one must not end the work early
            raise InvalidRequest(f"tasks must be Task objects; the one at index {self._tasks - 1} is {shown(task)}.")
        if not task.checks:
            raise self._malformed(task, "has no checks; silence is not a pass, so there is nothing to answer.")
        try:
            wire.refuse_task(task)
            self._add_checks(task)
        except InvalidRequest as error:
            raise self._malformed(task, str(error)) from None

    def _add_checks(self, task: Task) -> None:
        try:
            group = self._group(task)
        except UnicodeEncodeError as error:
            for check in task.checks:
                self._refuse(task, check, Outcome.INVALID, sentences.surrogate("program", error))
            return
        for check in task.checks:
            self._add_check(task, group, check)
        if not group.open and not self._remember:
            self._forget(group)

    def _malformed(self, task: Task, what: str) -> InvalidRequest:
        return InvalidRequest(f"{sentences.name(task, self._tasks - 1)}: {what}")

    def _add_check(self, task: Task, group: _Group, check: Check) -> None:
        """Give a check the next position."""
        try:
            key = wire.check_key(check)
            item = group.items.get(key) or self._new_item(task, group, key, check)
        except (AttributeError, TypeError):  # a call, at which nobody has looked so far, with what is no text
            wire.refuse_fields(check)
            raise
        if item is None:
            return
        if item.body is not None:
            self._answers.append((self.positions, item.verdict(task.id, check.id, item.body)))
        else:
            item.positions.append((self.positions, task.id, check.id))
            self.open_positions += 1
        self.positions += 1

    def _group(self, task: Task) -> _Group:
        number, options = self._options.find(task)
        # Checks of one task that may see traces of each other are not to see those of another.
        key = (task.program, number, self.positions if task.isolation is Isolation.TASK else -1)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(key, task, options)
            self.open_bytes += group.size
        return group

    def _forget(self, group: _Group) -> None:
        del self._groups[group.key]
        self.open_bytes -= group.size

    def _new_item(self, task: Task, group: _Group, key: tuple[Any, ...], check: Check) -> _Item | None:
        """A waiting item for `check`; None if it was refused and answered on the spot."""
        try:
            item = _Item(group, key, check)
        except UnicodeEncodeError as error:
            self._refuse(task, check, Outcome.INVALID, sentences.surrogate("check", error))
            return None
        size = item.size + group.size
        if size > self._sizes.message_bytes:
            # A limit of the sandbox says nothing about a candidate, unless that alone exceeds it: masked, never False.
            own = sentences.too_large(task.program)
            why = f"program and check are {size:,} bytes, a request holds at most {self._sizes.message_bytes:,}"
            self._refuse(task, check, Outcome.INVALID if own else Outcome.SANDBOX_ERROR, own or why)
            return None
        group.items[key] = item
        group.open += 1
        self.distinct += 1
        self.open_bytes += item.size
        self._enqueue(item)
        return item

    def _enqueue(self, item: _Item) -> None:
        if not item.group.waiting:
            self._ready.append(item.group)
        item.group.waiting.append(item)
        self.waiting += 1

    def _refuse(self, task: Task, check: Check, outcome: Outcome, why: str) -> None:
        """Give `check` a verdict here because it cannot be sent. Other checks are not affected."""
        where = sentences.place(task.id, check.id)
        self._answers.append(
            (self.positions, wire.verdict(task.id, check.id, wire.local_body(outcome, f"{where}: {why}")))
        )
        self.positions += 1

    # ---- out ------------------------------------------------------------

    def request(self, stream: int, room: int) -> Any | None:
        """The next pb.CheckRequest for the stream of that number, of at most `room` checks; None when nothing waits."""
        if not self._ready or room <= 0:
            return None
        request = pb.CheckRequest()
        if self._interactive:
            request.options.priority = pb.PRIORITY_INTERACTIVE
        checks = min(room, self._sizes.checks)
        space = self._sizes.bytes
        while self._ready and checks > 0:
            group = self._ready[0]
            if not request.tasks:  # a large program is sent as seldom as may be
                space = max(space, min(2 * group.size, self._sizes.message_bytes))
            taken = self._take(group, checks, space - group.size, first=not request.tasks)
            if not taken:
                break
            checks -= len(taken)
            space -= group.size + sum(item.size for item in taken)
            self._write(request, stream, group, taken)
            if not group.waiting:
                self._ready.popleft()
        return request

    @staticmethod
    def _take(group: _Group, checks: int, space: int, *, first: bool) -> list[_Item]:
        """Items of `group` that fit; the first of a request always does, for it was measured when it came."""
        taken: list[_Item] = []
        waiting = group.waiting
        while waiting and len(taken) < checks:
            space -= waiting[0].size
            if space < 0 and (taken or not first):
                break
            taken.append(waiting.popleft())
        return taken

    def _write(self, request: Any, stream: int, group: _Group, items: list[_Item]) -> None:
        part = _Slice(stream)
        part.items.extend(items)
        part.left = len(items)
        name = str(self._counter)
        self._counter += 1
        self._slices[name] = part
        task = request.tasks.add(id=name, program=group.program)
        if group.options is not None:
            task.options.CopyFrom(group.options)
        wire.encode_setting(task, group.setting)
        add = task.checks.add
        for number, item in enumerate(items):
            wire.encode_check(add(id=str(number)), item.check)
        self.waiting -= len(items)
        self.in_flight[stream] += len(items)
        self.flying += len(items)

    # ---- back -----------------------------------------------------------

    def accept(self, response: Any) -> int:
        """Take in a pb.CheckResponse; how many items it settled. ServerError if no sound server says that."""
        settled = 0
        for verdict in response.verdicts:
            part = self._slices.get(verdict.task_id)
            try:
                number = int(verdict.check_id)
                item = part.items[number] if part is not None and number >= 0 else None
            except (ValueError, IndexError):
                raise ServerError(
                    f"The server answered a check that was never sent: {verdict.check_id!r:.40}."
                ) from None
            if part is None or item is None:
                # A second answer to a question whose first answer already counts.
                continue
            body = wire.decode_body(verdict, item.attempts)
            sentences.believe(item.check, item.group.separated, body[0], body[1])
            rest = sentences.without_place(verdict.detail, verdict)
            part.items[number] = None
            part.left -= 1
            if not part.left:
                del self._slices[verdict.task_id]
            self.in_flight[part.stream] -= 1
            self.flying -= 1
            settled += self._settle(item, body, rest)
        return settled

    def _settle(self, item: _Item, body: wire.VerdictBody, rest: str) -> int:
        item.rest = rest
        if body[0] is Outcome.SANDBOX_ERROR and item.errors < self._sandbox_retries:
            item.errors += 1
            item.attempts = body[_ATTEMPTS]
            self._cooling.append(item)
            return 0
        for position, task_id, check_id in item.positions:
            self._answers.append((position, item.verdict(task_id, check_id, body)))
        self.open_positions -= len(item.positions)
        item.positions = []
        group = item.group
        group.open -= 1
        self.open_bytes -= item.size
        if self._remember:
            item.body = body
        else:
            del group.items[item.key]
            if not group.open:
                self._forget(group)
        return 1

    def answers(self) -> list[Answer]:
        """(position, Verdict) of everything answered since the last time this was asked."""
        answers, self._answers = self._answers, []
        return answers

    # ---- again ----------------------------------------------------------

    def requeue(self, stream: int) -> int:
        """The stream of that number broke: its items without an answer wait again. Returns how many."""
        lost = [name for name, part in self._slices.items() if part.stream == stream]
        count = 0
        for name in lost:
            for item in filter(None, self._slices.pop(name).items):
                self._enqueue(item)
                count += 1
        self.in_flight[stream] -= count
        self.flying -= count
        return count

    @property
    def cooling(self) -> int:
        """Items that met a SANDBOX_ERROR and wait for `warm`."""
        return len(self._cooling)

    def warm(self) -> int:
        """Send the cooling items again; how many there were."""
        cooling, self._cooling = self._cooling, []
        for item in cooling:
            self._enqueue(item)
        return len(cooling)

    @property
    def unanswered(self) -> int:
        """Distinct checks without a verdict."""
        return self.waiting + self.flying + len(self._cooling)


_ATTEMPTS, _DETAIL = (list(Verdict.__dataclass_fields__).index(name) - 2 for name in ("attempts", "detail"))
