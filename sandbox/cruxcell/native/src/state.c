/* The part of the seal between checks that is about no object: the stack, hooks and settings of the interpreter, and what
 * the kernel keeps for the process.
 *
 * Of the latter most cannot be another, because the filter refuses the system calls that change it
 * (`cruxboxd/seccomp/table.py`): working folder, umask, limits, priority, CPUs, timers, credentials, and which pipes the
 * report and the progress go to. Where only hermetic programs run, the filter's column `shared` ends a worker that does
 * anything with a descriptor or a signal. Elsewhere what a worker can change is compared: its other descriptors, and which
 * signals are blocked. Handlers of signals are listed in seal.py.
 */
#include "watch.h"

#include <frameobject.h>

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FRAMES 32
#ifndef SYS_close_range
#define SYS_close_range 436 /* on all architectures */
#endif

static PyObject *frames[MOST_FRAMES]; /* the code of each frame below the loop; borrowed, they never end */
static int frame_count;
static int recursion_limit;
static int is_held; /* by the filter: descriptors and signals */
static uint64_t locale_hash, context_hash, hooks_hash, descriptors_hash, blocked_hash;

/* The code of the frames on the stack, the innermost first. */
static int
walk_frames(PyObject **codes)
{
    PyFrameObject *frame = PyEval_GetFrame();
    int count = 0;

#if PY_VERSION_HEX < 0x03090000
    for (; frame != NULL && count < MOST_FRAMES; frame = frame->f_back) {
        codes[count++] = (PyObject *)frame->f_code;
    }
#else
    Py_XINCREF(frame);
    while (frame != NULL && count < MOST_FRAMES) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);

        codes[count++] = (PyObject *)code;
        Py_DECREF(code); /* the frame keeps it */
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
#endif
    return count;
}

/* Which descriptors are open, each with its file and its flag. One call asks about all numbers that the limit leaves. Of
 * the pipes of report and progress the filter keeps the file. fstat by its number: glibc 2.33 to 2.38 look up an empty path
 * instead, which takes twice as long. 0 if nobody knows. */
static uint64_t
hash_descriptors(void)
{
    struct pollfd asked[MOST_DESCRIPTORS];
    struct stat facts;
    uint64_t hash = 0;
    int fd;

    for (fd = 0; fd < MOST_DESCRIPTORS; fd++) {
        asked[fd] = (struct pollfd){.fd = fd};
    }
    if (poll(asked, MOST_DESCRIPTORS, 0) < 0) {
        return 0;
    }
    for (fd = 0; fd < MOST_DESCRIPTORS; fd++) {
        if (asked[fd].revents & POLLNVAL) {
            continue;
        }
        hash = mix(mix(hash, (uint64_t)fd), (uint64_t)fcntl(fd, F_GETFD));
        if (fd != REPORT_DESCRIPTOR && fd != PROGRESS_DESCRIPTOR && syscall(SYS_fstat, fd, &facts) == 0) {
            hash = mix(mix(hash, facts.st_dev), facts.st_ino);
        }
    }
    return hash;
}

static uint64_t
hash_locale(void)
{
    const char *name = setlocale(LC_ALL, NULL);

    return name == NULL ? 0 : hash_bytes(name, strlen(name));
}

/* The context variables that are set. */
static uint64_t
hash_context(void)
{
    PyObject *context = PyContext_CopyCurrent();
    PyObject *keys = NULL, *key, *value;
    uint64_t hash = 0;

    if (context != NULL && PyObject_Size(context) > 0) {
        keys = PyObject_GetIter(context);
    }
    while (keys != NULL && (key = PyIter_Next(keys)) != NULL) {
        value = PyObject_GetItem(context, key);
        hash += mix(mix(1, (uintptr_t)key), (uintptr_t)value);
        Py_DECREF(key);
        Py_XDECREF(value);
    }
    Py_XDECREF(keys);
    Py_XDECREF(context);
    PyErr_Clear();
    return hash;
}

/* What is told of generators and coroutines that begin. */
static uint64_t
hash_hooks(const PyThreadState *thread)
{
    uint64_t hooks = mix((uintptr_t)thread->async_gen_firstiter, (uintptr_t)thread->async_gen_finalizer);

    return mix(hooks, (uint64_t)thread->coroutine_origin_tracking_depth);
}

static int
has_company(void)
{
    PyThreadState *thread = PyThreadState_Get();

    return PyThreadState_Next(PyInterpreterState_ThreadHead(thread->interp)) != NULL;
}

/* Which signals are blocked. */
static uint64_t
hash_blocked(void)
{
    sigset_t blocked;
    uint64_t bits;

    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0) {
        return 0;
    }
    memcpy(&bits, &blocked, sizeof bits); /* the kernel knows 64 */
    return bits;
}

/* Does the filter end a worker that does anything with a descriptor or a signal? Only that one answers so here; a kernel
 * never does. */
static int
ask_filter(void)
{
    return syscall(SYS_close_range, ~0U, 0U, 0U) == -1 && errno == EOPNOTSUPP;
}

int
state_is_held(void)
{
    return is_held;
}

/* What the kernel keeps and the filter does not hold. */
static uint64_t
kept_differs(void)
{
    uint64_t descriptors = hash_descriptors(), found = 0;

    if (descriptors == 0 || descriptors != descriptors_hash) {
        found |= 1ULL << PLACE_DESCRIPTORS;
    }
    if (hash_blocked() != blocked_hash) {
        found |= 1ULL << PLACE_SIGNALS;
    }
    return found;
}

void
state_arm(void)
{
    is_held = ask_filter();
    frame_count = walk_frames(frames);
    recursion_limit = Py_GetRecursionLimit();
    locale_hash = hash_locale();
    context_hash = hash_context();
    hooks_hash = hash_hooks(PyThreadState_Get());
    if (!is_held) {
        descriptors_hash = hash_descriptors();
        blocked_hash = hash_blocked();
    }
}

uint64_t
state_differs(void)
{
    PyObject *now[MOST_FRAMES];
    PyThreadState *thread = PyThreadState_Get();
    uint64_t found = is_held ? 0 : kept_differs();

    if (walk_frames(now) != frame_count || memcmp(now, frames, sizeof now[0] * (size_t)frame_count) != 0) {
        found |= 1ULL << PLACE_FRAMES;
    }
    if (thread->c_tracefunc != NULL || thread->c_profilefunc != NULL || hash_hooks(thread) != hooks_hash) {
        found |= 1ULL << PLACE_HOOKS;
    }
    if (Py_GetRecursionLimit() != recursion_limit) {
        found |= 1ULL << PLACE_LIMITS;
    }
    if (hash_locale() != locale_hash) {
        found |= 1ULL << PLACE_LOCALE;
    }
    if (hash_context() != context_hash) {
        found |= 1ULL << PLACE_CONTEXT;
    }
    if (has_company()) {
        found |= 1ULL << PLACE_THREADS;
    }
    return found;
}
