/* Memory of small objects that is free again, and kept for the next ones instead of given back to the kernel. A function
 * that makes a million texts and drops them would have the kernel clear the same pages for each call: a quarter of its
 * time. (PyObject_SetArenaAllocator: docs.python.org/3/c-api/memory.html) */
#include "native.h"

enum { MOST_BYTES = 64 << 20, MOST_ARENAS = 256 }; /* of 256 KiB up to 3.9, of 1 MiB since then */

static PyObjectArenaAllocator given;
static void *kept[MOST_ARENAS];
static size_t count, kept_size, most_bytes; /* all arenas have one size */
static char is_in_use; /* interpreters with a lock each, from 3.12 on, ask at once; who comes second does without */

static void *
take_arena(void *Py_UNUSED(context), size_t size)
{
    void *arena = NULL;

    if (!__atomic_test_and_set(&is_in_use, __ATOMIC_ACQUIRE)) {
        if (count > 0 && size == kept_size) {
            arena = kept[--count];
        }
        __atomic_clear(&is_in_use, __ATOMIC_RELEASE);
    }
    return arena != NULL ? arena : given.alloc(given.ctx, size);
}

static void
keep_arena(void *Py_UNUSED(context), void *arena, size_t size)
{
    if (!__atomic_test_and_set(&is_in_use, __ATOMIC_ACQUIRE)) {
        if ((count == 0 || size == kept_size) && count < MOST_ARENAS && size <= most_bytes / (count + 1)) {
            kept_size = size;
            kept[count++] = arena;
            arena = NULL;
        }
        __atomic_clear(&is_in_use, __ATOMIC_RELEASE);
    }
    if (arena != NULL) {
        given.free(given.ctx, arena, size);
    }
}

const char cell_keep_arenas_doc[] = PyDoc_STR(
"keep_arenas(most_bytes)\n\n"
"From now on memory of small objects that is free again stays with the process, up to so many bytes and 64 MiB.");

PyObject *
cell_keep_arenas(PyObject *Py_UNUSED(module), PyObject *most)
{
    PyObjectArenaAllocator keeping = {NULL, take_arena, keep_arena};
    size_t bytes = PyLong_AsSize_t(most);

    if (PyErr_Occurred()) {
        return NULL;
    }
    most_bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES;
    if (given.alloc == NULL) {
        PyObject_GetArenaAllocator(&given);
        PyObject_SetArenaAllocator(&keeping);
    }
    Py_RETURN_NONE;
}
