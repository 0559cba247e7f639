/* What the seal between checks compares: the objects of the interpreter that a check could leave changed.
 *
 * seal.py says what is watched, once, before zygotes are forked, where the snapshot is taken, too. watch_arm() brings it
 * up to date in a worker before its first check, and writes only what has changed since: each page it writes to has to
 * be copied.
 * watch_differs() compares. A dict is compared by its version tag; only where that has changed (or there is none, from
 * 3.14 on) by what it holds. Whatever the snapshot points to is kept alive, so that no other object can take its address.
 * Lists, sets and memory are compared with copies (copies.c), classes in classes.c. Everything here is in C memory, which no Python code can
 * reach without native code of its own.
 *
 * Functions are not here: who changes the code or the defaults of one is heard by the audit hook (seal.c).
 */
#include "watch.h"

#include <stdlib.h>
#include <string.h>

/* What is looked at after every check, kept close together; the rest is in `dict_facts`, at the same place. */
struct dict_watch {
    PyObject *dict;
    uint64_t tag;
};

/* `is_fixed`: the dict of a class. It must not even have been changed back: the interpreter may remember what it found
 * meanwhile, and the flags of the class may be others (classes.c). */
struct dict_facts {
    uint64_t hash;
    unsigned char place, is_fixed;
};

/* A function of the interpreter that is asked again and must answer the same. `bare`: what is behind it, if that takes no
 * arguments; what leads there need not be read. */
struct probe {
    PyCFunction bare;
    PyObject *self, *function, *arguments, *expected;
    unsigned char place;
};

TABLE(dict_watch, dicts);
TABLE(dict_facts, facts);
TABLE(object_watch, objects);
TABLE(pointer_watch, pointers);
TABLE(probe, probes);
static size_t own_dicts, own_objects; /* those of the harness stand first */
static size_t held_probes;            /* and those about signals */

/* ---- the list of what is watched --------------------------------------------------------------------------- */

static void arm_dict(size_t at);
static int bring_up_to_date(void);

static int
add_facts(int fixed, long place)
{
    ADD(facts);
    facts[facts_count].is_fixed = (unsigned char)fixed;
    facts[facts_count++].place = (unsigned char)place;
    return 0;
}

static int
add_dict(PyObject *dict, int fixed, long place)
{
    size_t at;
    ADD(dicts);
    if (add_facts(fixed, place) < 0) {
        return -1;
    }
    at = dicts_count++;
    Py_INCREF(dict);
    dicts[at].dict = dict;
    arm_dict(at);
    if (place == PLACE_HARNESS && !fixed) {
        EXCHANGE(struct dict_watch, dicts[at], dicts[own_dicts]);
        EXCHANGE(struct dict_facts, facts[at], facts[own_dicts]);
        own_dicts++;
    }
    return 0;
}

static int
add_object(PyObject *object, Py_ssize_t size, long place)
{
    ADD(objects);
    objects[objects_count].place = (unsigned char)place;
    if (object_begin(&objects[objects_count], object, (size_t)size) < 0 || classes_add_bare(object, place) < 0) {
        return -1;
    }
    if (place == PLACE_HARNESS) {
        EXCHANGE(struct object_watch, objects[objects_count], objects[own_objects]);
        own_objects++;
    }
    objects_count++;
    return 0;
}

static int
add_pointer(PyObject *owner, PyObject **at, long place)
{
    ADD(pointers);
    Py_INCREF(owner);
    pointers[pointers_count].at = at;
    pointers[pointers_count].place = (unsigned char)place;
    pointer_arm(&pointers[pointers_count++]);
    return 0;
}

static int
add_probe(PyObject *function, PyObject *arguments, long place)
{
    ADD(probes);
    Py_INCREF(function);
    Py_INCREF(arguments);
    probes[probes_count].function = function;
    probes[probes_count].place = (unsigned char)place;
    probes[probes_count].arguments = arguments;
    if (PyCFunction_Check(function) && PyCFunction_GET_FLAGS(function) == METH_NOARGS) {
        probes[probes_count].bare = PyCFunction_GET_FUNCTION(function);
        probes[probes_count].self = PyCFunction_GET_SELF(function);
    }
    if (place == PLACE_SIGNALS) {
        EXCHANGE(struct probe, probes[probes_count], probes[held_probes]);
        held_probes++;
    }
    probes_count++;
    return 0;
}

/* `getattr` and what it is given, as a pointer where it is one. */
static int
add_question(PyObject *function, PyObject *arguments, long place)
{
    if (PyCFunction_Check(function) && strcmp(((PyCFunctionObject *)function)->m_ml->ml_name, "getattr") == 0 &&
        PyTuple_GET_SIZE(arguments) == 2) {
        PyObject *owner = PyTuple_GET_ITEM(arguments, 0);
        PyObject **at = find_pointer(owner, PyTuple_GET_ITEM(arguments, 1));
        if (at != NULL) {
            return add_pointer(owner, at, place);
        }
    }
    return add_probe(function, arguments, place);
}

static int
add(PyObject *entry)
{
    PyObject *object, *third = NULL;
    long place;

    if (!PyArg_ParseTuple(entry, "lO|O:watch", &place, &object, &third)) {
        return -1;
    }
    if (third != NULL && PyTuple_Check(third)) {
        return add_question(object, third, place);
    }
    if (third != NULL) {
        Py_ssize_t size = PyLong_AsSsize_t(third);
        return size < (Py_ssize_t)sizeof(PyObject) ? -1 : add_object(object, size, place);
    }
    if (PyDict_Check(object)) {
        return add_dict(object, 0, place);
    }
    if (PyType_Check(object)) {
        PyObject *dict = dict_of((PyTypeObject *)object);
        if (!is_fixed((PyTypeObject *)object) && classes_add((PyTypeObject *)object, place) < 0) {
            return -1;
        }
        return dict == NULL ? 0 : add_dict(dict, 1, place);
    }
    if (PyList_Check(object) || PyAnySet_Check(object)) {
        return add_object(object, 0, place);
    }
    return classes_add_bare(object, place);
}

const char cell_watch_doc[] = PyDoc_STR(
"watch(entries) -> None\n\n"
"Compare these between checks, too: tuples of a place in messages.SEAL_NAMES and an object; or a function and its\n"
"arguments, to be asked; or an object and the number of bytes it has. What is compared already is taken as it is now.");

PyObject *
cell_watch(PyObject *Py_UNUSED(module), PyObject *entries)
{
    Py_ssize_t i;

    if (!PyList_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "watch takes a list of tuples");
        return NULL;
    }
    if (bring_up_to_date() < 0) {
        return NULL;
    }
    for (i = 0; i < PyList_GET_SIZE(entries); i++) {
        if (add(PyList_GET_ITEM(entries, i)) < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "watch cannot compare this");
            }
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* ---- the comparison ---------------------------------------------------------------------------------------- */

/* What stands some entries behind this one is fetched into the processor's caches meanwhile. */
static inline void
fetch_dict(size_t at)
{
    if (at + AHEAD < dicts_count) {
        FETCH(((PyDictObject *)dicts[at + AHEAD].dict)->ma_used);
    }
}

static inline void
fetch_object(size_t at)
{
    if (at + AHEAD < objects_count) {
        FETCH(*objects[at + AHEAD].object);
        FETCH(*objects[at + AHEAD].copy);
    }
}

static inline void
fetch_pointer(size_t at)
{
    if (at + AHEAD < pointers_count) {
        FETCH(*pointers[at + AHEAD].at);
    }
}

/* The tag of this dict is another, or it has none. */
static int
dict_differs(size_t at)
{
    PyObject *dict = dicts[at].dict;
    uint64_t tag = tag_of(dict);

    if (tells_changes(dict)) {
        if (tag == dicts[at].tag) {
            return 0;
        }
        if (facts[at].is_fixed) {
            return 1;
        }
    }
    if (hash_dict(dict, 0) != facts[at].hash) {
        return 1;
    }
    dicts[at].tag = tag;
    return 0;
}

static PyObject *
ask(const struct probe *probe)
{
    if (probe->bare != NULL) {
        return probe->bare(probe->self, NULL);
    }
#if PY_VERSION_HEX >= 0x03090000
    PyObject *const *arguments = &PyTuple_GET_ITEM(probe->arguments, 0);

    return PyObject_Vectorcall(probe->function, arguments, (size_t)PyTuple_GET_SIZE(probe->arguments), NULL);
#else
    return PyObject_Call(probe->function, probe->arguments, NULL);
#endif
}

static int
probe_differs(const struct probe *probe)
{
    PyObject *answer = ask(probe);
    int result = answer == NULL || !is_same(answer, probe->expected);

    Py_XDECREF(answer);
    PyErr_Clear();
    return result;
}

uint64_t
watch_differs(int heard)
{
    uint64_t found = state_differs() | classes_differ(heard);
    size_t i;

    for (i = 0; i < dicts_count; i++) {
        fetch_dict(i);
        if (tag_of(dicts[i].dict) != dicts[i].tag || !tells_changes(dicts[i].dict)) {
            found |= (uint64_t)dict_differs(i) << facts[i].place;
        }
    }
    for (i = 0; i < objects_count; i++) {
        fetch_object(i);
        found |= (uint64_t)object_differs(&objects[i]) << objects[i].place;
    }
    for (i = 0; i < pointers_count; i++) {
        fetch_pointer(i);
        found |= (uint64_t)pointer_differs(&pointers[i]) << pointers[i].place;
    }
    if (found != 0) {
        return found; /* what is asked next may be somebody else's */
    }
    for (i = state_is_held() ? held_probes : 0; i < probes_count; i++) {
        found |= (uint64_t)probe_differs(&probes[i]) << probes[i].place;
    }
    return found;
}

/* ---- the snapshot ------------------------------------------------------------------------------------------ */

static void
arm_dict(size_t at)
{
    facts[at].hash = hash_dict(dicts[at].dict, 1);
    dicts[at].tag = tag_of(dicts[at].dict);
}

/* Nothing but the harness has run since all was found as it was: what it keeps for itself may be another now. */
int
watch_rebase(void)
{
    size_t i;

    for (i = 0; i < own_dicts; i++) {
        if (dict_differs(i)) {
            arm_dict(i);
        }
    }
    for (i = 0; i < own_objects; i++) {
        if (object_arm(&objects[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The snapshot of what is compared without asking anybody. -1 with an exception set when there is no memory. */
static int
bring_up_to_date(void)
{
    size_t i;

    for (i = 0; i < dicts_count; i++) {
        fetch_dict(i);
        if (dicts[i].tag != tag_of(dicts[i].dict) || !tells_changes(dicts[i].dict)) {
            arm_dict(i);
        }
    }
    for (i = 0; i < objects_count; i++) {
        fetch_object(i);
        if (object_arm(&objects[i]) < 0) {
            return -1;
        }
    }
    for (i = 0; i < pointers_count; i++) {
        fetch_pointer(i);
        pointer_arm(&pointers[i]);
    }
    return 0;
}

/* -1 with an exception set when a probe does not answer, or there is no memory. */
int
watch_arm(void)
{
    size_t i;

    if (bring_up_to_date() < 0) {
        return -1;
    }
    state_arm();
    for (i = state_is_held() ? held_probes : 0; i < probes_count; i++) {
        Py_XDECREF(probes[i].expected);
        probes[i].expected = ask(&probes[i]);
        if (probes[i].expected == NULL) {
            return -1;
        }
    }
    classes_arm();
    return 0;
}
