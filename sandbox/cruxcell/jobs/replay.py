"""Runs a script of rows (`analysis.rows`) on what its program gave, where that program is not."""

from cruxcell.analysis.compiled import loaded
from cruxcell.analysis.parsing import CHECK, Invalid, compile_text
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.suite_base import MAIN, run_main
from cruxcell.namespace import module_namespace
from cruxcell.protocol import frames, messages, records
from cruxcell.values import transfer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


class _NoMore(BaseException):
    """The script has made all the calls of which is known what they gave; or that is no value."""


def run_replay(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: script, its code or nothing, the names of what it calls, what each call gave, the last two packed.

    ENDED if it comes to its end, or makes one call more than is known; its steps are the number of calls it has made.
    They are 0 if one of these gave what is no value.
    """
    names = [each.decode() for each in frames.unpack(fields[2])]
    try:
        script = loaded(fields[1]) or compile_text(fields[0].decode("utf-8", "surrogatepass"), CHECK, "exec")
    except Invalid as error:
        context.refuse(str(error))
        return
    played = _Played(frames.unpack(fields[3]))
    context.start(messages.DIRECT, -1)  # run_main, and as deep as a pair's test may go
    namespace = module_namespace(MAIN, "test_program.py")
    namespace.update(dict.fromkeys(names, played.call))
    try:
        run_main(script, namespace)
    except _NoMore:
        pass
    except BaseException as error:
        context.send_raised(error, steps=played.made)
        return
    context.send(records.ended(context.numbers(0, played.made), *context.output()))


class _Played:
    """Stands for the program. Each value is made when it is asked for, as in a pair, so none is there beside others."""

    def __init__(self, told):
        # type: (list[bytes]) -> None
        self._told = told
        self.made = 0

    def call(self, /, *_arguments, **_named):
        # type: (object, object) -> Any
        if self.made == len(self._told):
            self.made += 1
            raise _NoMore
        try:
            value = transfer.decode(self._told[self.made])
        except Exception:  # a program may tell of anything, as of a table of pandas', which is not here
            self.made = 0
            raise _NoMore from None
        self.made += 1
        return value
