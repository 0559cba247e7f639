/* The step counter of the native helper.
 *
 * Steps are the bytecode instructions that Python frames begin while run() evaluates its code. Up to 3.11 the
 * interpreter tells a trace function about each of them when the frame asks for opcode events; from 3.12 on they are
 * the INSTRUCTION events of sys.monitoring. The count is exact and the same on every run: it depends on nothing but
 * the interpreter's version and the code. It belongs to the thread that run() was called in: what others do is not
 * counted.
 *
 * A program may switch the counting of its own run off (sys.settrace, sys.monitoring). That forges nothing: the clocks
 * remain, and the next run counts again.
 */
#include "native.h"

#include <frameobject.h>

#include <errno.h>
#include <unistd.h>

#define MONITORING (PY_VERSION_HEX >= 0x030C0000)

static unsigned long long counted; /* of the last run(), or of the one going on */
static unsigned long long limit;   /* the largest count allowed; ULLONG_MAX without one */
static int running;
#if PY_VERSION_HEX >= 0x030C0000
static unsigned long counting_thread;
#endif
static int report_fd;
static const char *report;
static Py_ssize_t report_size;

/* The step limit: nothing of the candidate runs after this, not even an exception handler. */
static void
stop(void)
{
    while (report_size > 0) {
        ssize_t written = write(report_fd, report, (size_t)report_size);
        if (written < 0 && errno != EINTR) {
            break;
        }
        if (written > 0) {
            report += written;
            report_size -= written;
        }
    }
    _exit(EXIT_STEPS);
}

static inline void
count_one(void)
{
    if (++counted > limit) {
        stop();
    }
}

#if MONITORING

/* Borrowed from sys.monitoring once, when the module is imported. */
static PyObject *use_tool, *register_callback, *set_events;
static PyObject *callback, *instruction_events, *no_events;
static PyObject *tool; /* the tool number taken, or NULL */

static PyObject *
on_instruction(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    if (running && PyThread_get_thread_ident() == counting_thread) {
        count_one();
    }
    Py_RETURN_NONE;
}

static PyMethodDef on_instruction_def = {
    "on_instruction", (PyCFunction)(void (*)(void))on_instruction, METH_FASTCALL, NULL};

#if PY_VERSION_HEX >= 0x030D0000 /* 3.13 */
#define CURRENT_FRAME(thread) ((thread)->current_frame)
#else
#define CURRENT_FRAME(thread) ((thread)->cframe->current_frame)
#endif

/* Turn the events on or off. The interpreter would rewrite the code of every frame on the stack at once, 1 to 3 us
 * each and twice for each run. Those frames are the harness, which does nothing until run() is over; so they are out
 * of sight for this one call. Should one be entered anew meanwhile, the interpreter sees that its code is out of date
 * and rewrites it then, as it does for all code that is not on the stack. */
static int
switch_events(PyObject *events)
{
    PyThreadState *thread = PyThreadState_Get();
    struct _PyInterpreterFrame *frame = CURRENT_FRAME(thread);
    PyObject *done;

    CURRENT_FRAME(thread) = NULL;
    done = PyObject_CallFunctionObjArgs(set_events, tool, events, NULL);
    CURRENT_FRAME(thread) = frame;
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Take a free tool number, from the end that debuggers and profilers do not use by convention. */
static int
take_tool(void)
{
    static const int numbers[] = {4, 3, 5, 2, 1, 0};
    PyObject *taken = NULL;
    size_t i;

    Py_CLEAR(tool);
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        taken = PyObject_CallFunction(use_tool, "is", numbers[i], "cruxcell");
        if (taken != NULL) {
            Py_DECREF(taken);
            tool = PyLong_FromLong(numbers[i]);
            return tool == NULL ? -1 : 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
            return -1;
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_ImportError, "every tool number of sys.monitoring is taken");
    return -1;
}

static int
start_once(void)
{
    PyObject *before;

    if (tool == NULL && take_tool() < 0) {
        return -1;
    }
    /* Each time: what ran before may have put another callback there. */
    before = PyObject_CallFunctionObjArgs(register_callback, tool, instruction_events, callback, NULL);
    Py_XDECREF(before);
    return before == NULL ? -1 : switch_events(instruction_events);
}

static int
start_counting(void)
{
    if (start_once() == 0) {
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
        return -1;
    }
    PyErr_Clear(); /* what ran before gave our tool number away: take another */
    Py_CLEAR(tool);
    return start_once();
}

static void
stop_counting(void)
{
    if (switch_events(no_events) < 0) {
        PyErr_Clear(); /* the candidate gave our tool number away: there is nothing left to stop */
    }
    /* Trace and profile functions of the candidate must not watch what comes after it. */
    if (PyThreadState_Get()->c_tracefunc != NULL) {
        PyEval_SetTrace(NULL, NULL);
    }
    if (PyThreadState_Get()->c_profilefunc != NULL) {
        PyEval_SetProfile(NULL, NULL);
    }
}

int
cell_prepare_counting(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *events;

    if (tool != NULL) {
        return 0; /* imported a second time */
    }
    if (monitoring == NULL) {
        PyErr_SetString(PyExc_ImportError, "this interpreter has no sys.monitoring");
        return -1;
    }
    events = PyObject_GetAttrString(monitoring, "events");
    instruction_events = events == NULL ? NULL : PyObject_GetAttrString(events, "INSTRUCTION");
    Py_XDECREF(events);
    use_tool = PyObject_GetAttrString(monitoring, "use_tool_id");
    register_callback = PyObject_GetAttrString(monitoring, "register_callback");
    set_events = PyObject_GetAttrString(monitoring, "set_events");
    no_events = PyLong_FromLong(0);
    callback = PyCFunction_New(&on_instruction_def, NULL);
    if (instruction_events == NULL || use_tool == NULL || register_callback == NULL || set_events == NULL ||
        no_events == NULL || callback == NULL) {
        return -1;
    }
    return take_tool();
}

#else /* up to 3.11 */

#if PY_VERSION_HEX >= 0x030B0000 /* 3.11 hides the frame's fields; going through its attributes costs 15 ns a call */
static PyObject *f_trace_opcodes, *f_trace_lines;

static void
ask_for_opcodes(PyFrameObject *frame)
{
    if (PyObject_SetAttr((PyObject *)frame, f_trace_opcodes, Py_True) < 0 ||
        PyObject_SetAttr((PyObject *)frame, f_trace_lines, Py_False) < 0) {
        PyErr_Clear();
    }
}

int
cell_prepare_counting(void)
{
    f_trace_opcodes = PyUnicode_InternFromString("f_trace_opcodes");
    f_trace_lines = PyUnicode_InternFromString("f_trace_lines");
    return f_trace_opcodes == NULL || f_trace_lines == NULL ? -1 : 0;
}
#else
static void
ask_for_opcodes(PyFrameObject *frame)
{
    frame->f_trace_opcodes = 1;
    frame->f_trace_lines = 0;
}

int
cell_prepare_counting(void)
{
    return 0;
}
#endif

static int
on_trace(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what, PyObject *Py_UNUSED(value))
{
    if (what == PyTrace_OPCODE) {
        count_one();
    }
    else if (what == PyTrace_CALL) {
        ask_for_opcodes(frame);
    }
    return 0;
}

static int
start_counting(void)
{
    PyEval_SetTrace(on_trace, NULL);
    return 0;
}

static void
stop_counting(void)
{
    PyEval_SetTrace(NULL, NULL);
    PyEval_SetProfile(NULL, NULL); /* one that the candidate set must not watch what comes after it */
}

#endif

int
cell_is_running(void)
{
    return running;
}

/* exec() and eval() give a namespace its builtins; so does run(). */
static int
give_builtins(PyObject *globals)
{
    PyObject *key = PyUnicode_InternFromString("__builtins__");
    int result = -1;

    if (key != NULL) {
        result = PyDict_Contains(globals, key);
        if (result == 0) {
            result = PyDict_SetItem(globals, key, PyEval_GetBuiltins());
        }
        Py_DECREF(key);
    }
    return result < 0 ? -1 : 0;
}

const char cell_run_doc[] = PyDoc_STR(
"run(code, globals, limit, fd, report) -> object\n\n"
"Evaluate a code object and count the steps of the frames it starts. Above `limit` steps (0: no limit), write\n"
"`report` to the file descriptor `fd` and end the process with status 61, which nothing can catch.");

PyObject *
cell_run(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *code, *globals, *text, *value;
    unsigned long long most;
    int fd;

    if (!PyArg_ParseTuple(args, "O!O!KiS:run", &PyCode_Type, &code, &PyDict_Type, &globals, &most, &fd, &text)) {
        return NULL;
    }
    if (PyCode_GetNumFree((PyCodeObject *)code) > 0) {
        PyErr_SetString(PyExc_TypeError, "run takes a code object without free variables");
        return NULL;
    }
    if (running) { /* or a candidate could start its count anew */
        PyErr_SetString(PyExc_RuntimeError, "run is already running");
        return NULL;
    }
    if (give_builtins(globals) < 0) {
        return NULL;
    }
    counted = 0;
    limit = most == 0 ? ULLONG_MAX : most;
    report_fd = fd;
    report = PyBytes_AS_STRING(text); /* alive as long as `args` is */
    report_size = PyBytes_GET_SIZE(text);
    cell_seal_switching(1);
    if (start_counting() < 0) {
        cell_seal_switching(0);
        return NULL;
    }
#if MONITORING
    counting_thread = PyThread_get_thread_ident();
#endif
    cell_seal_switching(0);
    cell_seal_run(code);
    running = 1;
    value = PyEval_EvalCode(code, globals, globals);
    running = 0;
    cell_seal_switching(1);
    if (value == NULL) {
        PyObject *type, *exception, *traceback;
        PyErr_Fetch(&type, &exception, &traceback);
        stop_counting();
        PyErr_Restore(type, exception, traceback);
    }
    else {
        stop_counting();
    }
    cell_seal_switching(0);
    return value;
}

const char cell_evaluate_doc[] = PyDoc_STR(
"evaluate(code, globals) -> object\n\n"
"Evaluate a code object and count nothing; as deep in the interpreter's recursion as run().");

PyObject *
cell_evaluate(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *code, *globals, *value;
    int before = running;

    if (!PyArg_ParseTuple(args, "O!O!:evaluate", &PyCode_Type, &code, &PyDict_Type, &globals)) {
        return NULL;
    }
    if (PyCode_GetNumFree((PyCodeObject *)code) > 0) {
        PyErr_SetString(PyExc_TypeError, "evaluate takes a code object without free variables");
        return NULL;
    }
    if (give_builtins(globals) < 0) {
        return NULL;
    }
    cell_seal_run(code);
    running = 1;
    value = PyEval_EvalCode(code, globals, globals);
    running = before;
    return value;
}

const char cell_steps_doc[] = PyDoc_STR(
"steps() -> int\n\nThe count of the last run().");

PyObject *
cell_steps(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLongLong(counted);
}

