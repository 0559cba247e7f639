"""The test's worker: runs the script on proxies, and ends it when the candidate has certainly failed."""

from cruxcell.analysis.compiled import loaded
from cruxcell.analysis.parsing import Invalid, parse_text
from cruxcell.analysis.vacuous import refuse_vacuous, surely_tests
from cruxcell.jobs import stand_ins
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.program_module import compiled, refuse_loading
from cruxcell.jobs.separated.crossing.exceptions import ANSWERED
from cruxcell.jobs.separated.rules.configurations import follow_expressions
from cruxcell.jobs.separated.rules.databases import Databases
from cruxcell.jobs.separated.rules.submodules import import_submodules
from cruxcell.jobs.separated.rules.texts import Texts
from cruxcell.jobs.separated.rules.truths import follow_truths
from cruxcell.jobs.separated.script_link import ScriptLink
from cruxcell.jobs.suite_base import is_well, run_main
from cruxcell.jobs.suites import open_suite
from cruxcell.protocol import messages, records
from cruxcell.protocol.payloads import REDEFINED, TEST_FLAGS, UNREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_BETWEEN = 1  # frames that the script does not pay for, of three: _run_suite, _run_script and run_main


def run_test(context, fields, is_rehearsal=False):
    # type: (JobContext, list[bytes], bool) -> None
    """fields: script, entry point, framework, name of the program's module, flags, code of the script or nothing,
    token. ENDED if the script comes to its end; see `ScriptLink` for other ends. `is_rehearsal`: other jobs follow in
    this process."""
    token = fields.pop()
    flags = TEST_FLAGS.unpack(fields[4])[0]
    source = fields[0].decode("utf-8", "surrogatepass")
    try:
        suite = open_suite(fields[2].decode(), source, fields[3].decode())
        script = loaded(fields[5]) or compiled(suite.code, suite.program_module, suite.is_main)
        if flags & UNREAD and not surely_tests(source, script):
            refuse_vacuous(parse_text(source, "exec"))
    except Invalid as error:
        context.refuse("the script: %s" % error)
        return
    suite.is_compiled(script)
    stand_ins.install_for(suite.code, context.scratch_bytes, context.memory_bytes)
    context.start(messages.DIRECT, _BETWEEN)
    link = ScriptLink(context, suite.namespace, token, suite.of_program)
    link.results, suite.results.leave = suite.results, link.leave_declined
    try:
        if not is_rehearsal:
            link.begin_partners()
            link.texts = Texts(context.helper.hear, script, link.may_have_texts, link.leave_at_text, link.may_open)
            link.texts.decline = link.decline_text
            Databases(link).follow(link.texts)
            follow_expressions(link.texts)
            follow_truths(link.texts)
        link.provide(script, suite, fields[1].decode(), bool(flags & REDEFINED))
        import_submodules(script, suite.code)
        refuse_loading(suite.program_module, suite.of_program, link.refuse)
        suite.begin()
        results = _run_suite(script, suite)
        link.at_end(results)
        link.ending.acquire()
    except BaseException as error:
        link.look_for_declined()
        link.ending.acquire()
        context.send_raised(error, flags=link.flags)
    else:
        if results is not None:
            context.send(results.record())
        context.send(records.ended(context.numbers(link.flags), *context.output(), token))


def _run_suite(script, suite):
    # type: (CodeType, Any) -> Any
    try:
        if not suite.is_whole:
            _run_script(script, suite.namespace)
    except suite.skips as error:  # which no exception of the candidate's is
        suite.skip(error)
        return suite.results
    return suite.run()


def _run_script(script, namespace):
    # type: (CodeType, dict[str, Any]) -> None
    """To its end, which may be `sys.exit` with status 0; not if the candidate had a hand in that."""
    try:
        run_main(script, namespace)
    except SystemExit as error:
        if not is_well(error) or ANSWERED in error.__dict__:
            raise
