/* In which order a set is gone through: that of the places in its table. Which place an item has depends on how large the
 * table is, and on who came first where two would have the same (Objects/setobject.c; the same in 3.8 to 3.13). Here are
 * an order in which the items would have to come, and a set that has such a table before they do. */
#include "native.h"

enum { LINEAR_PROBES = 9, PERTURB_SHIFT = 5, SMALLEST = 3, LARGEST = 31, MOST_PLACES_AN_ITEM = 8 };

/* Can so many items stand in a table of 2 to the power `bits` places, and would a set of so many not have fewer? */
static int
has_room(int bits, Py_ssize_t count)
{
    Py_ssize_t size = bits < SMALLEST || bits > LARGEST ? 0 : (Py_ssize_t)1 << bits;

    return 5 * count < 3 * (size - 1) && (bits == SMALLEST || size <= MOST_PLACES_AN_ITEM * count);
}

static int
is_item(const setentry *entry)
{
    return entry->key != NULL && entry->hash != -1; /* -1: an item was here and has been discarded */
}

/* Would the item at `place` come to stand there by now? -1: not without one that has been discarded. */
static int
finds_its_place(const PySetObject *set, const char *is_there, size_t place)
{
    size_t mask = (size_t)set->mask, perturb = (size_t)set->table[place].hash, from = perturb & mask, at, last;

    for (;;) {
        last = from + LINEAR_PROBES <= mask ? from + LINEAR_PROBES : from;
        for (at = from; at <= last; at++) {
            if (at == place) {
                return 1;
            }
            if (!is_item(&set->table[at])) {
                return -1;
            }
            if (!is_there[at]) {
                return 0;
            }
        }
        perturb >>= PERTURB_SHIFT;
        from = (from * 5 + 1 + perturb) & mask;
    }
}

/* Put the items into `order` as they would have to come. Nothing of the interpreter's is called. 0, or -1 if there is no
 * such order. */
static int
put_in_order(const PySetObject *set, char *is_there, PyObject *order)
{
    Py_ssize_t count = PyTuple_GET_SIZE(order), done = 0, before = -1, place;

    while (done < count && done > before) {
        before = done;
        for (place = 0; place <= set->mask; place++) {
            int comes = is_item(&set->table[place]) && !is_there[place] ? finds_its_place(set, is_there, (size_t)place) : 0;
            if (comes < 0) {
                return -1;
            }
            if (comes > 0) {
                is_there[place] = 1;
                Py_INCREF(set->table[place].key);
                PyTuple_SET_ITEM(order, done++, set->table[place].key);
            }
        }
    }
    return done == count ? 0 : -1;
}

const char cell_set_order_doc[] = PyDoc_STR(
"set_order(set) -> (bits, items)\n\n"
"A set or frozenset as `fill_set` makes one that is gone through in the same order; (0, ()) where that is not known.");

PyObject *
cell_set_order(PyObject *Py_UNUSED(module), PyObject *value)
{
    PySetObject *set = (PySetObject *)value;
    PyObject *order;
    char *is_there;
    int bits = SMALLEST, is_known = 0;

    if (!PyAnySet_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "set_order takes a set or frozenset");
        return NULL;
    }
    order = PyTuple_New(set->used); /* may run finalizers, which may change the set */
    if (order == NULL) {
        return NULL;
    }
    while (bits <= LARGEST && (Py_ssize_t)1 << bits <= set->mask) {
        bits++;
    }
    if (PyTuple_GET_SIZE(order) == set->used && has_room(bits, set->used)) {
        is_there = PyMem_Calloc((size_t)set->mask + 1, 1);
        if (is_there == NULL) {
            Py_DECREF(order);
            return PyErr_NoMemory();
        }
        is_known = put_in_order(set, is_there, order) == 0;
        PyMem_Free(is_there);
    }
    if (!is_known) {
        Py_DECREF(order);
        return Py_BuildValue("(i())", 0);
    }
    return Py_BuildValue("(iN)", bits, order);
}

/* An empty set gets a table of so many places. */
static int
make_room(PySetObject *set, int bits, Py_ssize_t count)
{
    setentry *table;

    if (bits == SMALLEST || !has_room(bits, count) || set->fill != 0 || set->table != set->smalltable) {
        return 0;
    }
    table = PyMem_Calloc((size_t)1 << bits, sizeof *table);
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    set->table = table;
    set->mask = ((Py_ssize_t)1 << bits) - 1;
    return 0;
}

const char cell_fill_set_doc[] = PyDoc_STR(
"fill_set(set, items, bits) -> set\n\n"
"The set, which is emptied before, or a new frozenset for None, with these items: one after the other put into a table of\n"
"2 to the power `bits` places, or one as large as any such set has if that does not fit. Raises TypeError for what has\n"
"no hash.");

PyObject *
cell_fill_set(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given, *items, *set;
    Py_ssize_t i;
    int bits;

    if (!PyArg_ParseTuple(args, "OOi:fill_set", &given, &items, &bits)) {
        return NULL;
    }
    if (given != Py_None && !PySet_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "fill_set takes a set or None");
        return NULL;
    }
    items = PySequence_Tuple(items);
    if (items == NULL) {
        return NULL;
    }
    set = given == Py_None ? PyFrozenSet_New(NULL) : given;
    if (set != NULL && given != Py_None) {
        Py_INCREF(set);
        if (PySet_Clear(set) < 0) {
            Py_CLEAR(set);
        }
    }
    if (set != NULL && make_room((PySetObject *)set, bits, PyTuple_GET_SIZE(items)) < 0) {
        Py_CLEAR(set);
    }
    for (i = 0; set != NULL && i < PyTuple_GET_SIZE(items); i++) {
        if (PySet_Add(set, PyTuple_GET_ITEM(items, i)) < 0) {
            Py_CLEAR(set);
        }
    }
    Py_DECREF(items);
    return set;
}
