/* The native helper of cruxcell: raw system calls, and a worker's confinement in one call. The step counter is in
 * steps.c, the reading of frames in frames.c, the canonical encoder in values.c, the report of a value in reports.c,
 * the waiting for a zygote in waiter.c.
 *
 * Everything here can only tighten, count, or write what any code may write, so it is harmless in a candidate's hands.
 * pure.py is its twin: the same functions in Python, slower, for hosts without a compiler. Tests hold the two to the
 * same behaviour.
 */
#include "native.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_ARGUMENTS 6

/* What this was compiled from, for whoever decides whether a cached file is still good (see native_build.py). */
#ifndef CRUXCELL_SOURCE
#define CRUXCELL_SOURCE "unknown"
#endif

/* ---- system calls ------------------------------------------------------------------------------------------ */

/* One argument of a system call: an int as it is, a buffer as its address, None as NULL. */
static int
argument(PyObject *object, long *word)
{
    if (object == Py_None) {
        *word = 0;
    }
    else if (PyBytes_Check(object)) {
        *word = (long)PyBytes_AS_STRING(object);
    }
    else if (PyByteArray_Check(object)) {
        *word = (long)PyByteArray_AS_STRING(object);
    }
    else if (PyLong_Check(object)) {
        /* Two's complement, so that -1 and 2**64 - 1 are the same word. */
        *word = (long)PyLong_AsUnsignedLongMask(object);
        return PyErr_Occurred() ? -1 : 0;
    }
    else {
        PyErr_Format(PyExc_TypeError, "syscall takes int, bytes, bytearray or None, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(syscall_doc, "syscall(number, *args) -> int\n\n"
"One raw system call; buffers pass their address, None is NULL. Raises OSError(errno, text).");

static PyObject *
cell_syscall(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    long words[1 + MOST_ARGUMENTS] = {0};
    long result;
    Py_ssize_t i;

    if (count < 1 || count > 1 + MOST_ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "syscall takes a number and up to %d arguments, not %zd values",
                     MOST_ARGUMENTS, count);
        return NULL;
    }
    if (!PyLong_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "the number of a system call must be an int");
        return NULL;
    }
    for (i = 0; i < count; i++) {
        if (argument(args[i], &words[i]) < 0) {
            return NULL;
        }
    }
    result = syscall(words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
    return result == -1 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(result);
}

PyDoc_STRVAR(fork_beside_doc, "fork_beside() -> int\n\n"
"As os.fork, but the new process is a child of this one's parent. Raises OSError(errno, text).");

static PyObject *
cell_fork_beside(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    long pid;
    int error;

    PyOS_BeforeFork();
    pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0); /* libc has no function for it; there is one thread */
    error = errno;
    if (pid == 0) {
        PyOS_AfterFork_Child();
    }
    else {
        PyOS_AfterFork_Parent();
    }
    errno = error;
    return pid == -1 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(pid);
}

/* ---- confinement of a worker ------------------------------------------------------------------------------- */

/* A resource limit as it is packed: struct '<IIQQ'. */
struct record {
    uint32_t resource;
    uint32_t padding;
    uint64_t soft;
    uint64_t hard;
};

/* Where enter() failed. `resource` is set for the step "setrlimit" only. */
struct failure {
    const char *step;
    uint32_t resource;
};

static int
die_with_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
        return -1;
    }
    /* The parent may have died before the line above: then nobody will ever send that signal. */
    if (parent != 0 && getppid() != parent) {
        errno = ESRCH;
        return -1;
    }
    return 0;
}

static int
set_limits(const char *records, Py_ssize_t size, uint32_t *resource)
{
    struct record record;
    struct rlimit limit;
    Py_ssize_t at;

    for (at = 0; at < size; at += (Py_ssize_t)sizeof record) {
        memcpy(&record, records + at, sizeof record); /* bytes objects promise no alignment */
        limit.rlim_cur = (rlim_t)record.soft;
        limit.rlim_max = (rlim_t)record.hard;
        *resource = record.resource;
        if (setrlimit((int)record.resource, &limit) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What the filter answers with a trap no honest program calls. Say which call it was, and die: a record as
 * messages.VIOLATED has it, written to the report pipe. The filter refuses a change of this signal's handler, and a
 * trap that finds the signal blocked kills the process all the same. */
static void
on_trap(int Py_UNUSED(number), siginfo_t *info, void *Py_UNUSED(context))
{
    unsigned char record[17] = {13, 0, 0, 0, 1, 0, 0, 0, RECORD_VIOLATED, 4, 0, 0, 0};
    uint32_t call = (uint32_t)info->si_syscall;
    ssize_t ignored;

    memcpy(record + 13, &call, sizeof call);
    ignored = write(REPORT_DESCRIPTOR, record, sizeof record);
    (void)ignored;
    _exit(EXIT_VIOLATION);
}

static int
catch_traps(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGSYS, &action, NULL);
}

/* The steps in order, the filter last because it forbids the others. No Python object is touched in here. */
static int
confine(const char *limits, Py_ssize_t limits_size, const struct sock_fprog *program, pid_t parent,
        struct failure *failure)
{
    failure->step = "pdeathsig";
    if (die_with_parent(parent) != 0) {
        return -1;
    }
    failure->step = "setrlimit";
    if (set_limits(limits, limits_size, &failure->resource) != 0) {
        return -1;
    }
    failure->step = "no_new_privs";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    failure->step = "dumpable";
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return -1;
    }
    failure->step = "traps";
    if (catch_traps() != 0) {
        return -1;
    }
    failure->step = "seccomp";
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

static void
raise_failure(int error, const struct failure *failure)
{
    PyObject *arguments;

    if (strcmp(failure->step, "setrlimit") == 0) {
        arguments = Py_BuildValue("(iN)", error, PyUnicode_FromFormat("setrlimit:%u", failure->resource));
    }
    else {
        arguments = Py_BuildValue("(is)", error, failure->step);
    }
    if (arguments != NULL) {
        PyErr_SetObject(PyExc_OSError, arguments);
        Py_DECREF(arguments);
    }
}

PyDoc_STRVAR(enter_doc, "enter(rlimits, bpf, parent) -> None\n\n"
"Confine this process for good: die with `parent` (0: do not check who it is), set the packed limits ('<IIQQ'\n"
"records), give up new privileges, become undumpable, load the seccomp filter.\n"
"Raises OSError(errno, step) for the step that failed.");

static PyObject *
cell_enter(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *limits, *bpf;
    Py_ssize_t limits_size, bpf_size;
    int parent;
    struct sock_fprog program;
    struct failure failure = {NULL, 0};

    if (!PyArg_ParseTuple(args, "y#y#i:enter", &limits, &limits_size, &bpf, &bpf_size, &parent)) {
        return NULL;
    }
    if (limits_size % (Py_ssize_t)sizeof(struct record) != 0) {
        PyErr_Format(PyExc_ValueError, "rlimits has %zd bytes, not a whole number of 24-byte records", limits_size);
        return NULL;
    }
    if (bpf_size == 0 || bpf_size % (Py_ssize_t)sizeof(struct sock_filter) != 0 ||
        bpf_size / (Py_ssize_t)sizeof(struct sock_filter) > BPF_MAXINSNS) {
        PyErr_Format(PyExc_ValueError, "bpf has %zd bytes, not 1 to 4096 instructions of 8 bytes", bpf_size);
        return NULL;
    }
    program.len = (unsigned short)(bpf_size / (Py_ssize_t)sizeof(struct sock_filter));
    program.filter = (struct sock_filter *)bpf; /* the kernel copies it and demands no alignment */
    if (confine(limits, limits_size, &program, (pid_t)parent, &failure) != 0) {
        raise_failure(errno, &failure);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- the module -------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"syscall", (PyCFunction)(void (*)(void))cell_syscall, METH_FASTCALL, syscall_doc},
    {"fork_beside", cell_fork_beside, METH_NOARGS, fork_beside_doc},
    {"enter", cell_enter, METH_VARARGS, enter_doc},
    {"run", cell_run, METH_VARARGS, cell_run_doc},
    {"evaluate", cell_evaluate, METH_VARARGS, cell_evaluate_doc},
    {"steps", cell_steps, METH_NOARGS, cell_steps_doc},
    {"read_frame", cell_read_frame, METH_VARARGS, cell_read_frame_doc},
    {"read_payload", cell_read_payload, METH_VARARGS, cell_read_payload_doc},
    {"watch", cell_watch, METH_O, cell_watch_doc},
    {"hear", cell_hear, METH_VARARGS, cell_hear_doc},
    {"say", cell_say, METH_VARARGS, cell_say_doc},
    {"arm", cell_arm, METH_NOARGS, cell_arm_doc},
    {"seal", cell_seal, METH_VARARGS, cell_seal_doc},
    {"plain_names", cell_plain_names, METH_VARARGS, cell_plain_names_doc},
    {"plain_call", cell_plain_call, METH_VARARGS, cell_plain_call_doc},
    {"report_value", cell_report_value, METH_VARARGS, cell_report_value_doc},
    {"keep_arenas", cell_keep_arenas, METH_O, cell_keep_arenas_doc},
    {"set_order", cell_set_order, METH_O, cell_set_order_doc},
    {"fill_set", cell_fill_set, METH_VARARGS, cell_fill_set_doc},
    {"not_as_before", cell_not_as_before, METH_O, cell_not_as_before_doc},
    {"alone", cell_alone, METH_O, cell_alone_doc},
    {"end_as", cell_end_as, METH_O, cell_end_as_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cruxcell.native._native", "Native helper of cruxcell.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL) {
        return NULL;
    }
    if (PyModule_AddStringConstant(module, "NAME", "native") < 0 || PyModule_AddIntConstant(module, "SEALS", 1) < 0 ||
        PyModule_AddStringConstant(module, "SOURCE", CRUXCELL_SOURCE) < 0 || cell_prepare_counting() < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
