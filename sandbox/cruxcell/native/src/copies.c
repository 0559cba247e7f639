/* What the seal between checks compares byte by byte: lists, sets, memory of other objects, and single pointers.
 *
 * A copy costs more memory than a hash, in the zygote and once. A comparison with it is several times faster, and it runs
 * after every check.
 */
#include "watch.h"

#include <structmember.h>

#include <stdlib.h>
#include <string.h>

enum { LIST, SET, MEMORY }; /* what is compared of an object; its type changes only where the audit hook hears of it */

/* Copies stand one behind the other, in the order in which they are compared. */
#define MOST_AT_ONCE ((size_t)1 << 14)
static char *free_room;
static size_t free_bytes;

/* Room for a copy, which is never given back; NULL without memory. */
static char *
claim(size_t size)
{
    char *room;

    if (size > free_bytes) {
        free_bytes = size > MOST_AT_ONCE ? size : MOST_AT_ONCE;
        free_room = free_bytes > UINT32_MAX ? NULL : malloc(free_bytes);
        if (free_room == NULL) {
            free_bytes = 0;
            PyErr_NoMemory();
            return NULL;
        }
    }
    room = free_room;
    free_room += size;
    free_bytes -= size;
    return room;
}

/* The memory that is compared now. */
static inline const char *
memory_of(const struct object_watch *watch, size_t *size)
{
    PyObject *object = watch->object;

    switch (watch->kind) {
    case LIST:
        *size = (size_t)PyList_GET_SIZE(object) * sizeof(PyObject *);
        return (const char *)((PyListObject *)object)->ob_item;
    case SET:
        *size = (size_t)(((PySetObject *)object)->mask + 1) * sizeof(setentry);
        return (const char *)((PySetObject *)object)->table;
    default:
        *size = watch->size;
        return (const char *)object + sizeof(PyObject);
    }
}

/* A list or a set: no other object can take the address of what is in it. */
static void
keep(PyObject *object)
{
    Py_ssize_t i;

    if (PyList_Check(object)) {
        for (i = 0; i < PyList_GET_SIZE(object); i++) {
            Py_INCREF(PyList_GET_ITEM(object, i));
        }
    }
    else if (PyAnySet_Check(object)) {
        for (i = 0; i <= ((PySetObject *)object)->mask; i++) {
            Py_XINCREF(((PySetObject *)object)->table[i].key); /* a dummy, too */
        }
    }
}

int
object_differs(const struct object_watch *watch)
{
    const char *memory;
    size_t size;

    memory = memory_of(watch, &size);
    return size != watch->size || (size > 0 && memcmp(memory, watch->copy, size) != 0);
}

/* Copy the memory, and keep alive what is in it. What was kept before stays: letting go of it could run code. */
static int
take(struct object_watch *watch)
{
    size_t size;
    const char *memory = memory_of(watch, &size);

    if (size > watch->room) {
        size_t room = watch->room == 0 ? size : 2 * size; /* it grows */
        char *copy = claim(room);
        if (copy == NULL) {
            return -1;
        }
        watch->copy = copy;
        watch->room = (uint32_t)room;
    }
    if (size > 0) {
        memcpy(watch->copy, memory, size);
    }
    watch->size = (uint32_t)size;
    if (watch->kind != MEMORY) {
        keep(watch->object);
    }
    return 0;
}

int
object_begin(struct object_watch *watch, PyObject *object, size_t size)
{
    Py_INCREF(object);
    watch->object = object;
    watch->kind = size > 0 ? MEMORY : PyList_Check(object) ? LIST : SET;
    watch->size = size > 0 ? (uint32_t)(size - sizeof(PyObject)) : 0;
    return take(watch);
}

int
object_arm(struct object_watch *watch)
{
    return object_differs(watch) ? take(watch) : 0; /* each page that is written to has to be copied */
}

/* Only what compares without anybody's code is looked into. */
int
is_same(PyObject *a, PyObject *b)
{
    Py_ssize_t i;

    if (a == b) {
        return 1;
    }
    if (a == NULL || b == NULL || Py_TYPE(a) != Py_TYPE(b)) {
        return 0;
    }
    if (PyLong_CheckExact(a) || PyFloat_CheckExact(a) || PyUnicode_CheckExact(a)) {
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    }
    if (!PyTuple_Check(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) {
        return 0;
    }
    for (i = 0; i < PyTuple_GET_SIZE(a); i++) {
        if (!is_same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) {
            return 0;
        }
    }
    return 1;
}

#if HAS_TAGS /* a version whose structures are known */
/* How a struct.Struct begins. Its format is what it was made of: made again, it has another. */
struct format {
    PyObject_HEAD
    Py_ssize_t size, length;
    void *codes;
    PyObject *format;
};

static PyObject **
find_format(PyObject *object)
{
    PyObject **at = &((struct format *)object)->format;

    if (strcmp(Py_TYPE(object)->tp_name, "_struct.Struct") != 0) {
        return NULL;
    }
    return PyBytes_CheckExact(*at) ? at : NULL;
}
#else
static PyObject **
find_format(PyObject *Py_UNUSED(object))
{
    return NULL;
}
#endif

PyObject **
find_pointer(PyObject *object, PyObject *name)
{
    PyObject *found;
    PyObject **at = NULL;

    if (PyCell_Check(object)) {
        return &((PyCellObject *)object)->ob_ref; /* it has no other attribute */
    }
    if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
        return _PyObject_GetDictPtr(object);
    }
    if (PyUnicode_CompareWithASCIIString(name, "format") == 0) {
        return find_format(object);
    }
    found = PyObject_GetAttr((PyObject *)Py_TYPE(object), name);
    if (found != NULL && Py_TYPE(found) == &PyMemberDescr_Type) {
        const PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX || member->type == T_OBJECT) {
            at = (PyObject **)((char *)object + member->offset);
        }
    }
    Py_XDECREF(found);
    PyErr_Clear();
    return at;
}

int
pointer_differs(const struct pointer_watch *watch)
{
    return *watch->at != watch->expected && !is_same(*watch->at, watch->expected);
}

void
pointer_arm(struct pointer_watch *watch)
{
    if (*watch->at != watch->expected) {
        Py_XINCREF(*watch->at);
        watch->expected = *watch->at;
    }
}
