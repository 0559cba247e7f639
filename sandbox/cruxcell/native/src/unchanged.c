/* What is asked before each message between the halves of a script: which of the containers that both have may have
 * changed, and which nobody refers to any more (values/containers.py). A container with n items takes n comparisons of
 * addresses each time, so that is done here. Nothing of the interpreter's is called that runs code or frees anything. */
#include "native.h"

#include <string.h>

enum { VALUE, BEFORE, OF_OTHERS }; /* of an entry; what has more is a view */

static int
list_is_as(PyObject *value, PyObject *before)
{
    Py_ssize_t count = PyTuple_GET_SIZE(before);

    return count == PyList_GET_SIZE(value) &&
           (count == 0 || memcmp(((PyListObject *)value)->ob_item, &PyTuple_GET_ITEM(before, 0),
                                 (size_t)count * sizeof(PyObject *)) == 0);
}

/* `before`: lists of its keys and its values. */
static int
dict_is_as(PyObject *value, PyObject *before)
{
    PyObject *keys, *values, *key, *item;
    Py_ssize_t at = 0, i = 0;

    if (PyTuple_GET_SIZE(before) != 2) {
        return 0;
    }
    keys = PyTuple_GET_ITEM(before, 0);
    values = PyTuple_GET_ITEM(before, 1);
    if (!PyList_CheckExact(keys) || !PyList_CheckExact(values) || PyList_GET_SIZE(keys) != PyDict_GET_SIZE(value) ||
        PyList_GET_SIZE(values) != PyDict_GET_SIZE(value)) {
        return 0;
    }
    for (; PyDict_Next(value, &at, &key, &item); i++) {
        if (i >= PyList_GET_SIZE(keys) || key != PyList_GET_ITEM(keys, i) || item != PyList_GET_ITEM(values, i)) {
            return 0;
        }
    }
    return i == PyList_GET_SIZE(keys);
}

/* `before`: the addresses of its items, and these in the order of their places. */
static int
set_is_as(PyObject *value, PyObject *before)
{
    const PySetObject *set = (const PySetObject *)value;
    PyObject *items;
    Py_ssize_t place, i = 0;

    if (PyTuple_GET_SIZE(before) != 2 || !PyTuple_CheckExact(PyTuple_GET_ITEM(before, 1))) {
        return 0;
    }
    items = PyTuple_GET_ITEM(before, 1);
    if (PyTuple_GET_SIZE(items) != set->used) {
        return 0;
    }
    for (place = 0; place <= set->mask; place++) {
        const setentry *entry = &set->table[place];
        if (entry->key != NULL && entry->hash != -1) { /* -1: an item was here and has been discarded */
            if (i >= PyTuple_GET_SIZE(items) || entry->key != PyTuple_GET_ITEM(items, i)) {
                return 0;
            }
            i++;
        }
    }
    return i == PyTuple_GET_SIZE(items);
}

static int
is_as_before(PyObject *entry)
{
    PyObject *value, *before;

    if (!PyList_CheckExact(entry) || PyList_GET_SIZE(entry) <= BEFORE) {
        return 0;
    }
    value = PyList_GET_ITEM(entry, VALUE);
    before = PyList_GET_ITEM(entry, BEFORE);
    if (before == Py_None) {
        return 1;
    }
    if (!PyTuple_CheckExact(before) || PyList_GET_SIZE(entry) != OF_OTHERS) {
        return 0;
    }
    return PyList_Check(value)                            ? list_is_as(value, before)
           : PyDict_Check(value) && !PyODict_Check(value) ? dict_is_as(value, before) /* that has an order of its own */
           : PySet_Check(value)                           ? set_is_as(value, before)
                                                          : 0;
}

static int
is_alone(PyObject *entry)
{
    return PyList_CheckExact(entry) && PyList_GET_SIZE(entry) > VALUE && Py_REFCNT(PyList_GET_ITEM(entry, VALUE)) == 1;
}

/* The keys of the entries that `is_wanted` says `answer` of. */
static PyObject *
keys_of(PyObject *entries, int (*is_wanted)(PyObject *), int answer)
{
    PyObject *found, *number, *entry;
    Py_ssize_t at = 0;

    if (!PyDict_CheckExact(entries)) {
        PyErr_SetString(PyExc_TypeError, "the entries are a dict");
        return NULL;
    }
    found = PyList_New(0); /* may run finalizers, which may change the entries: before they are gone through */
    while (found != NULL && PyDict_Next(entries, &at, &number, &entry)) {
        if (is_wanted(entry) == answer && PyList_Append(found, number) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

const char cell_not_as_before_doc[] = PyDoc_STR(
"not_as_before(entries) -> list of numbers\n\n"
"Of a dict of [container, what it held]: those that are not certain to hold the same. Certain are lists, dicts and sets\n"
"by the identity of their items, whatever methods their classes have, and what cannot change (None).");

PyObject *
cell_not_as_before(PyObject *Py_UNUSED(module), PyObject *entries)
{
    return keys_of(entries, is_as_before, 0);
}

const char cell_alone_doc[] = PyDoc_STR(
"alone(entries) -> list of numbers\n\n"
"Of a dict of [container, ...]: those whose container nothing refers to but its entry.");

PyObject *
cell_alone(PyObject *Py_UNUSED(module), PyObject *entries)
{
    return keys_of(entries, is_alone, 1);
}
