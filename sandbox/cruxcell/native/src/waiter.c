/* The process that waits for a zygote that has process numbers of its own, and ends as it ends (`namespaces.split`).
 *
 * It is the zygote's parent, and a copy of it. The zygote goes on writing to nearly all of its pages (reference counts,
 * the collector), so the copy would hold them as they were: as much memory again. The waiting needs none of it. What is
 * given back are all pages but those of the C library, of this file, and of this thread. There is no interpreter after
 * that, only the few calls below.
 */
#include "native.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_USED 8
#define AROUND (1UL << 16) /* what is kept beside an address that is in use */

struct range {
    uintptr_t first, last;
};

static struct range used[MOST_USED];
static int used_count;

static void
note_used(uintptr_t first, uintptr_t last)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    if (used_count < MOST_USED) {
        used[used_count].first = first & ~(page - 1);
        used[used_count++].last = (last + page - 1) & ~(page - 1);
    }
}

/* Keep an object that was loaded if one of the addresses is in it. */
static int
keep_object(struct dl_phdr_info *info, size_t Py_UNUSED(size), void *addresses)
{
    const uintptr_t *address = addresses;
    uintptr_t first = UINTPTR_MAX, last = 0;
    int i;

    for (i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            first = begin < first ? begin : first;
            last = begin + info->dlpi_phdr[i].p_memsz > last ? begin + info->dlpi_phdr[i].p_memsz : last;
        }
    }
    for (; *address != 0; address++) {
        if (first <= *address && *address < last) {
            note_used(first, last);
            break;
        }
    }
    return 0;
}

/* Where the next range in use begins from `at` on, or `end`; `at` moves out of one that it is in. */
static uintptr_t
next_used(uintptr_t *at, uintptr_t end)
{
    uintptr_t next = end;
    int i;

    for (i = 0; i < used_count; i++) {
        if (used[i].first <= *at && *at < used[i].last) {
            *at = used[i].last;
            i = -1; /* it may be in another one now */
        }
    }
    for (i = 0; i < used_count; i++) {
        if (*at < used[i].first && used[i].first < next) {
            next = used[i].first;
        }
    }
    return next;
}

/* Below the stack. A range that the kernel refuses stays as it is. */
static void
give_back(uintptr_t end)
{
    uintptr_t at = (uintptr_t)sysconf(_SC_PAGESIZE);

    while (at < end) {
        uintptr_t next = next_used(&at, end);
        if (at < next) {
            madvise((void *)at, next - at, MADV_DONTNEED); /* what is not mapped is passed over */
            at = next;
        }
    }
}

/* Nothing here returns: the memory that it would return to is gone. */
static void __attribute__((noreturn))
wait_and_end(pid_t child)
{
    uintptr_t clock = (uintptr_t)getauxval(AT_SYSINFO_EHDR); /* the kernel's own pages: they cannot be given back */
    uintptr_t own[] = {(uintptr_t)&wait_and_end, (uintptr_t)&waitpid, 0};
    uintptr_t thread = (uintptr_t)&errno;
    int status = 1 << 8, number; /* as of exit(1) */

    for (number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL); /* the interpreter's would run in what is gone */
    }
    dl_iterate_phdr(keep_object, own);
    note_used(thread - AROUND, thread + AROUND);
    if (clock != 0) {
        note_used(clock - AROUND, clock + AROUND);
    }
    give_back((uintptr_t)&status - AROUND);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        kill(getpid(), WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

const char cell_end_as_doc[] = PyDoc_STR(
"end_as(child) -> never\n\n"
"Give back the memory of this process, wait for its child, and end as that ends: by the same signal or with the same\n"
"status. One thread only.");

PyObject *
cell_end_as(PyObject *Py_UNUSED(module), PyObject *child)
{
    long number = PyLong_AsLong(child);

    if (number <= 0) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "%ld is not the number of a child", number);
        }
        return NULL;
    }
    wait_and_end((pid_t)number);
}
