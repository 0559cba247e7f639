/* What the seal between checks compares byte by byte: lists, sets, memory of other objects, and single pointers.
 *
 * A copy costs more memory than a hash, in the zygote and once. A comparison with it is several times faster, and it runs
 * after every check.
 */
#include "watch.h"

#include <structmember.h>

#include <stdlib.h>
#include <string.h>

enum { LIST, SET, MEMORY }; /* what is compared of an object beside its type */

static void
look_at_type(struct object_watch *watch)
{
    PyObject *object = watch->object;

    watch->type = Py_TYPE(object);
    watch->kind = watch->own > 0 ? MEMORY : PyList_Check(object) ? LIST : SET;
}

/* The memory that is compared now; its type is the one that was looked at. */
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
        *size = watch->own - sizeof(PyObject);
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

    if (Py_TYPE(watch->object) != watch->type) {
        return 1;
    }
    memory = memory_of(watch, &size);
    return size != watch->size || (size > 0 && memcmp(memory, watch->copy, size) != 0);
}

int
object_arm(struct object_watch *watch)
{
    const char *memory;
    char *before = watch->copy;
    size_t size;

    if (watch->type == NULL) {
        look_at_type(watch);
    }
    if (!object_differs(watch)) {
        return 0; /* and writes nothing: each page it writes to has to be copied */
    }
    look_at_type(watch);
    memory = memory_of(watch, &size);
    watch->copy = malloc(size + 1);
    if (watch->copy == NULL) {
        watch->copy = before;
        PyErr_NoMemory();
        return -1;
    }
    watch->size = size;
    memcpy(watch->copy, size > 0 ? memory : "", size);
    if (watch->own == 0) {
        keep(watch->object); /* and what was kept before stays: letting go of it could run code */
    }
    free(before);
    return 0;
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
        if (member->type == T_OBJECT_EX) {
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
