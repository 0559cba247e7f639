/* The seal between checks that share a worker. seal.py says what is compared, watch.c compares; this file keeps the
 * secret and writes the records.
 *
 * The daemon sends a one-time token for each seal. read_payload() takes them off the pipe into C memory before anything
 * of the task is looked at; no Python object ever holds one. After each check seal() compares the worker's state with
 * the snapshot that arm() took, and says the next token if nothing differs; else it says what does and ends the
 * process. A token stands beside the number of bytes that the harness has said up to there, so bytes that a candidate
 * wrote to the pipe by itself break the seal behind them. So does a second answer, or an answer to another check.
 */
#include "native.h"

#include <errno.h>
#include <opcode.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *tokens; /* those not said yet, or NULL: nothing is sealed here */
static size_t tokens_left;
static uint64_t said; /* bytes that the harness wrote to the report */
static int is_armed;
static int has_run;   /* code of a task that is more than a display, since the last seal; any, behind such code */
static int may_live;  /* such code has run in this worker: what it left may run again, when it is thrown away */
static int is_switching; /* the step counter is switched on or off: what that makes known is our own doing */
static int answers;
static uint32_t answered;
static uint64_t noticed; /* what was seen that no comparison shows */

/* ---- what is told ------------------------------------------------------------------------------------------ */

static int
write_all(int fd, const char *data, size_t size)
{
    size_t rest = size;

    while (rest > 0) {
        ssize_t written = write(fd, data + (size - rest), rest);
        if (written >= 0) {
            rest -= (size_t)written;
        }
        else if (errno != EINTR) {
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
    }
    return 0;
}

/* A value over the limit on output is an answer, too: the worker goes on. Other limits end it. */
static int
is_answer(char letter)
{
    return letter == RECORD_VALUE || letter == RECORD_RAISED || letter == RECORD_ENDED || letter == RECORD_OUTPUT_LIMIT;
}

int
cell_tell(int fd, const char *data, size_t size)
{
    if (write_all(fd, data, size) < 0) {
        return -1;
    }
    if (cell_is_running()) {
        return 0; /* somebody else says it: it does not count, and the next seal breaks */
    }
    said += size;
    if (size >= INDEX_AT + sizeof answered && is_answer(data[KIND_AT])) {
        answers++;
        memcpy(&answered, data + INDEX_AT, sizeof answered);
    }
    return 0;
}

/* Is this one record? Otherwise an exception is set. */
static int
is_record(const char *data, Py_ssize_t size)
{
    uint32_t length;

    memcpy(&length, data, size < 4 ? 0 : sizeof length);
    if (size < 4 || length != (uint64_t)size - 4) {
        PyErr_SetString(PyExc_ValueError, "this takes one whole record");
        return 0;
    }
    return 1;
}

const char cell_say_doc[] = PyDoc_STR(
"say(fd, record) -> None\n\nWrite one record to the report. Raises OSError.");

PyObject *
cell_say(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *data;
    Py_ssize_t size;
    int fd;

    if (!PyArg_ParseTuple(args, "iy#:say", &fd, &data, &size) || !is_record(data, size)) {
        return NULL;
    }
    if (cell_tell(fd, data, (size_t)size) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- the tokens -------------------------------------------------------------------------------------------- */

int
cell_keep_tokens(const char *data, size_t size)
{
    tokens_left = size / TOKEN_BYTES;
    said = 0; /* a rehearsal in the zygote said something, too */
    answers = has_run = may_live = 0;
    if (tokens_left == 0) {
        return 0;
    }
    tokens = malloc(size);
    if (tokens == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(tokens, data, size);
    return 0;
}

/* ---- what happens between two seals ------------------------------------------------------------------------ */

void
cell_seal_switching(int on)
{
    is_switching = on;
}

/* Operations that put constants into a new tuple, list, set or dict. */
static int
makes_display(unsigned char operation)
{
    switch (operation) {
    case LOAD_CONST:
    case BUILD_TUPLE:
    case BUILD_LIST:
    case BUILD_SET:
    case BUILD_MAP:
    case LIST_APPEND:
    case SET_ADD:
    case MAP_ADD:
#ifdef BUILD_CONST_KEY_MAP
    case BUILD_CONST_KEY_MAP:
#endif
#ifdef LIST_EXTEND
    case LIST_EXTEND:
    case SET_UPDATE:
    case DICT_UPDATE:
#endif
#ifdef RESUME
    case RESUME:
#endif
#ifdef RETURN_CONST
    case RETURN_CONST:
#endif
    case EXTENDED_ARG:
    case RETURN_VALUE:
        return 1;
    default:
        return 0;
    }
}

static PyObject *
operations_of(PyObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyCode_GetCode((PyCodeObject *)code);
#else
    PyObject *operations = ((PyCodeObject *)code)->co_code;

    Py_INCREF(operations);
    return operations;
#endif
}

/* Is this nothing but a display of constants? No name, call, attribute or operator: it runs the interpreter's own code
 * alone, on objects of its own types that it has just made, so there is nothing that it could leave changed. Nor is
 * there anybody else who could run meanwhile, as long as nothing but displays has run in this worker. */
static int
is_display(PyObject *code)
{
    PyObject *constants = ((PyCodeObject *)code)->co_consts, *operations;
    Py_ssize_t i;
    int is;

    for (i = 0; i < PyTuple_GET_SIZE(constants); i++) {
        if (PyCode_Check(PyTuple_GET_ITEM(constants, i))) {
            return 0;
        }
    }
    operations = operations_of(code);
    is = operations != NULL;
    PyErr_Clear();
    for (i = 0; is && i < PyBytes_GET_SIZE(operations); i += 2) {
        is = makes_display((unsigned char)PyBytes_AS_STRING(operations)[i]);
    }
    Py_XDECREF(operations);
    return is;
}

void
cell_seal_run(PyObject *code)
{
    may_live = may_live || !is_display(code);
    has_run = may_live;
}

/* What an import does by itself: that one has happened is seen in the table of modules. And reading standard input,
 * which is another for each check that has one. */
static const char *const harmless[] = {
    "import", "open", "compile", "exec", "marshal.loads", "marshal.load", "os.listdir", "os.scandir",
    "builtins.input", "builtins.input/result"};

static int
looks_for_line(PyObject *args)
{
    PyObject *name = PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : NULL;

    return name != NULL && PyUnicode_Check(name) &&
           (PyUnicode_CompareWithASCIIString(name, "tb_frame") == 0 ||
            PyUnicode_CompareWithASCIIString(name, "f_code") == 0);
}

static int
is_ours(const char *event, PyObject *args)
{
    size_t i;

    for (i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        if (strcmp(event, harmless[i]) == 0) {
            return 1;
        }
    }
    if (is_switching) {
        return strncmp(event, "sys.set", 7) == 0 || strncmp(event, "sys.monitoring", 14) == 0;
    }
    if (cell_is_running()) {
        return 0;
    }
    return strcmp(event, "object.__getattr__") == 0 && looks_for_line(args); /* the harness: where was it raised? */
}

/* An audit hook: nothing that may share a worker does what the interpreter makes known to those. That a class was
 * changed, or that of an object, counts at any time: nothing else shows it once it is changed back (classes.c). */
static int
on_audit(const char *event, PyObject *args, void *Py_UNUSED(data))
{
    if (is_armed && (has_run || strcmp(event, "object.__setattr__") == 0) && !is_ours(event, args)) {
        noticed |= 1ULL << PLACE_AUDIT;
    }
    return 0;
}

/* ---- seals ------------------------------------------------------------------------------------------------- */

const char cell_arm_doc[] = PyDoc_STR(
"arm() -> bool\n\n"
"Take the snapshot, the first time this is called in a worker that has tokens; True if it has. From then on seal()\n"
"must be called by the function that calls this.");

PyObject *
cell_arm(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (tokens != NULL && !is_armed && !cell_is_running()) {
        if (PySys_AddAuditHook(on_audit, NULL) < 0 || watch_arm() < 0) {
            return NULL;
        }
        is_armed = 1;
    }
    return PyBool_FromLong(is_armed);
}

static void
put_u32(char **at, uint32_t number)
{
    memcpy(*at, &number, sizeof number);
    *at += sizeof number;
}

#define HEAD_BYTES 13 /* length of the record, number of fields, length of the first, the letter, length of the second */

/* A record of a letter and `size` bytes, which follow. */
static void
put_head(char *at, char kind, uint32_t size)
{
    put_u32(&at, HEAD_BYTES - 4 + size);
    put_u32(&at, 1);
    *at++ = kind;
    put_u32(&at, size);
}

static void
break_off(int fd, uint64_t found)
{
    char record[HEAD_BYTES + sizeof found];

    put_head(record, RECORD_UNSEALED, sizeof found);
    memcpy(record + HEAD_BYTES, &found, sizeof found);
    cell_tell(fd, record, sizeof record);
    _exit(EXIT_UNSEALED);
}

/* Say `before`, and the next token, at once if that is short. */
static int
say_token(int fd, const char *before, size_t size)
{
    char record[1024], *at = record;
    uint64_t said_before = said + size;

    if (size + HEAD_BYTES + TOKEN_BYTES + sizeof said > sizeof record) {
        if (cell_tell(fd, before, size) < 0) {
            return -1;
        }
        size = 0;
    }
    memcpy(at, before, size);
    at += size;
    put_head(at, RECORD_SEAL, TOKEN_BYTES + sizeof said);
    at += HEAD_BYTES;
    memcpy(at, tokens, TOKEN_BYTES);
    at += TOKEN_BYTES;
    memcpy(at, &said_before, sizeof said_before);
    at += sizeof said_before;
    tokens += TOKEN_BYTES;
    tokens_left--;
    said += (uint64_t)(at - record);
    return write_all(fd, record, (size_t)(at - record));
}

const char cell_seal_doc[] = PyDoc_STR(
"seal(fd, index, record=b'') -> None\n\n"
"Check `index` was answered (-1: no check has run since the last seal). Compare the state with the snapshot: say the\n"
"next token, or what differs, and then end the process with status 65. `record`, which is no answer, is said first.");

PyObject *
cell_seal(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *record = "";
    Py_ssize_t size = 0;
    uint64_t found;
    int fd, index;

    if (!PyArg_ParseTuple(args, "ii|y#:seal", &fd, &index, &record, &size) || (size > 0 && !is_record(record, size))) {
        return NULL;
    }
    if (!is_armed || tokens_left == 0 || cell_is_running()) {
        PyErr_SetString(PyExc_RuntimeError, "there is nothing to seal");
        return NULL;
    }
    found = noticed;
    if (index < 0 ? has_run || answers != 0 : answers != 1 || answered != (uint32_t)index) {
        found |= 1ULL << PLACE_REPORT;
    }
    if (has_run) {
        found |= watch_differs(noticed != 0);
    }
    if (found != 0) {
        break_off(fd, found);
    }
    if (index < 0 && watch_rebase() < 0) {
        return NULL;
    }
    has_run = answers = 0;
    if (say_token(fd, record, (size_t)size) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}
