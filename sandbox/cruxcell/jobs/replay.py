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
    """The script has made all the calls of which is known what they gave."""


def run_replay(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: script, its code or nothing, the names of what it calls, what each call gave, the last two packed.

    ENDED if it comes to its end, or makes one call more than is known; its steps are the number of calls it has made.
    """
    names = [each.decode() for each in frames.unpack(fields[2])]
    try:
        script = loaded(fields[1]) or compile_text(fields[0].decode("utf-8", "surrogatepass"), CHECK, "exec")
        values = [transfer.decode(each) for each in frames.unpack(fields[3])]
    except (Invalid, ValueError) as error:  # one is Garbled, or no frame: this is no verdict on either
        context.refuse(str(error))
        return
    played = _Played(values)
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
    """Stands for the program."""

    def __init__(self, values):
        # type: (list[Any]) -> None
        self._values = values
        self.made = 0

    def call(self, *_arguments):
        # type: (object) -> Any
        self.made += 1
        if self.made > len(self._values):
            raise _NoMore
        return self._values[self.made - 1]
