"""How the test's half ends where it cannot go on: the whole script at once, so that it cannot catch it, or one test.

A test alone ends by an exception, which it may catch. So only where nobody was asked anything, and nothing of the
harness is under way that the exception would break off; see `Results` for what keeps another test from passing by it.
"""

import os
import sys
from _thread import allocate_lock as _lock

from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.protocol import frames, messages, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.jobs.suite_base import Results  # noqa: F401 - in type comments

_RUNS_TEXT = (
    "code that may be the program's (by eval, exec, pickle, doctest or a library) would run in the test's process, by"
    " line %d of the script: compare values, or require IN_PROCESS"
)
_HARNESS = ("cruxcell.jobs.separated.", "cruxcell.values.")
_RUNS_THE_SCRIPT = _HARNESS[0] + "test"
_DECLINES = (_HARNESS[0] + "proxies.", _HARNESS[0] + "rules.")  # where nothing is under way that would be broken off


class Leaving:
    """Of the test's link."""

    def __init__(self, context, token):
        # type: (JobContext, bytes) -> None
        self._context, self._token = context, token
        self.results = None  # type: Results | None  # of a suite's tests
        self.ending = _lock()
        self.why_invalid = ""  # the script is, whatever becomes of its other tests

    if TYPE_CHECKING:

        def depth(self):
            # type: () -> int
            """That of the link."""

        doubts = None  # type: Any

    def leave(self, kind, text):
        # type: (bytes, str) -> None
        """Report the reason and end. Never returns, to no thread."""
        self.ending.acquire()
        if self.results is not None and self.results.end(text):
            for test, why in self.doubts.left().items():
                self.results.spoil(test, why)
            self._context.send(self.results.record())
        self._context.send(frames.frame([kind, self._context.numbers(), records.text_bytes(text), self._token]))
        os._exit(messages.EXIT_DONE)

    def refuse(self, why):
        # type: (str) -> Any
        """At once: a test that expects an error would take this one for the program's."""
        self.leave(messages.NOT_PLAIN, why)

    def invalid(self, why):
        # type: (str) -> Any
        """As `refuse`, where it is the script that no program can pass."""
        self.leave(messages.CANNOT_CROSS, why)

    def may_show(self):
        # type: () -> bool
        """May the candidate be asked how something is shown by now? Not at the end, and not while a test ends."""
        return not self.ending.locked() and (self.results is None or self.results.declined is None)

    def gone(self, why):
        # type: (str) -> Any
        """As `refuse`, where the candidate does not answer, or not as an honest one does."""
        self.leave(messages.CANDIDATE_GONE, why)

    def leave_at_text(self, line):
        # type: (int) -> None
        """The script is about to run code that may be the candidate's."""
        self.invalid(_RUNS_TEXT % line)

    def decline_text(self, line):
        # type: (int) -> None
        """As `leave_at_text`, where an exception keeps it from running: only the test ends that is under way. All the
        same, no program can pass the script."""
        why = _RUNS_TEXT % line
        if self._may_decline(sys._getframe(1)):
            self.why_invalid = self.why_invalid or why
            self.results.decline(why)  # type: ignore[union-attr]
        self.invalid(why)

    def decline(self, why):
        # type: (str) -> Any
        """As `refuse`, where the candidate was not asked: of a suite, only the test ends that is under way."""
        if self._may_decline(sys._getframe(1)):
            self.results.decline(why)  # type: ignore[union-attr]
        self.refuse(why)

    def _may_decline(self, frame):
        # type: (Any) -> bool
        return self.results is not None and not self.depth() and _is_all_the_script_s(frame)

    def leave_declined(self, why):
        # type: (str) -> None
        """What was declined to a test it has made something of."""
        self.leave(messages.CANNOT_CROSS if self.why_invalid else messages.NOT_PLAIN, why)

    def look_for_declined(self):
        # type: () -> None
        """Nothing is asked between that and the end of the test."""
        if self.results is not None:
            self.results.look_for_declined()


def _is_all_the_script_s(frame):
    # type: (Any) -> bool
    """Is nothing of the harness under way but an operator, in this frame and perhaps some before it, and the script?"""
    is_operator = True
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        is_harness = name.startswith(_HARNESS) and name != _RUNS_THE_SCRIPT
        is_operator = is_operator and name.startswith(_DECLINES)
        if is_harness and not is_operator:
            return False
        frame = frame.f_back
    return True
