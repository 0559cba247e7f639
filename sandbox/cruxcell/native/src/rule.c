/* The rule over programs and calls (analysis/hermetic.py), for those of the plainest kind: no import, no `format`, no
 * `type`, no name that is harmless only at some places. Most are, and one pass here takes a tenth of the rule's time and
 * writes to none of the pages that the rule's own code is on. What this lets pass the rule lets pass, and says the same of
 * it; whatever is not plain is left to the rule.
 */
#include "native.h"

#include <string.h>

#define MOST_NESTED 50

enum { OTHER, PLAIN, STORES, TAKES, TAKES_SHIFTED, HANDLES, EXTENDS }; /* kinds of operations, as hermetic.py has them */

/* What hermetic.py hands over: the kind of each operation, the flags that code may have, and sets of names. */
struct rule {
    const unsigned char *kinds;
    unsigned long flags;
    PyObject *anywhere, *attributes, *builtins, *special;
};

static int look_through(const struct rule *rule, PyObject *code, PyObject *bound, int depth);

/* 1 or 0; -1 with an exception set. As in all of these. */
static int
name_is_plain(const struct rule *rule, PyObject *name)
{
    int is_there;

    if (!PyUnicode_CheckExact(name) || PyUnicode_GET_LENGTH(name) == 0) {
        return 0;
    }
    is_there = PySet_Contains(rule->special, name);
    if (is_there != 0) {
        return is_there < 0 ? -1 : 0;
    }
    is_there = PySet_Contains(rule->anywhere, name);
    if (is_there != 0) {
        return is_there;
    }
    if (PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_GET_LENGTH(name) > 1) {
        return 0;
    }
    is_there = PyDict_Contains(rule->builtins, name);
    return is_there < 0 ? -1 : !is_there;
}

static int
names_are_plain(const struct rule *rule, PyObject *names)
{
    Py_ssize_t i;
    int plain = PyTuple_CheckExact(names);

    for (i = 0; plain == 1 && i < PyTuple_GET_SIZE(names); i++) {
        plain = name_is_plain(rule, PyTuple_GET_ITEM(names, i));
    }
    return plain;
}

/* Names of variables: none begins with two underscores. */
static int
variables_are_plain(PyObject *names)
{
    Py_ssize_t i;

    if (!PyTuple_CheckExact(names)) {
        return 0;
    }
    for (i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);

        if (!PyUnicode_CheckExact(name) || (PyUnicode_GET_LENGTH(name) > 1 && PyUnicode_READ_CHAR(name, 0) == '_' &&
                                            PyUnicode_READ_CHAR(name, 1) == '_')) {
            return 0;
        }
    }
    return 1;
}

static int
operations_are_plain(const struct rule *rule, PyObject *bytecode, PyObject *names, unsigned long flags, PyObject *bound)
{
    const unsigned char *at, *end;
    size_t argument, more = 0, count = (size_t)PyTuple_GET_SIZE(names);

    if (!PyBytes_CheckExact(bytecode) || PyBytes_GET_SIZE(bytecode) % 2 != 0) {
        return 0;
    }
    at = (const unsigned char *)PyBytes_AS_STRING(bytecode);
    end = at + PyBytes_GET_SIZE(bytecode);
    for (; at < end; at += 2) {
        unsigned char kind = rule->kinds[at[0]];

        if (kind == PLAIN) {
            more = 0;
            continue;
        }
        argument = more << 8 | at[1];
        more = 0;
        if (kind == EXTENDS) {
            if (argument > 0xFFFF) {
                return 0;
            }
            more = argument;
        }
        else if (kind == HANDLES) {
            if (flags & CO_GENERATOR) {
                return 0;
            }
        }
        else if (kind == STORES) {
            if (argument >= count || PySet_Add(bound, PyTuple_GET_ITEM(names, argument)) < 0) {
                return argument >= count ? 0 : -1;
            }
        }
        else if (kind == TAKES || kind == TAKES_SHIFTED) {
            int is_there;

            argument >>= kind == TAKES_SHIFTED;
            is_there = argument < count ? PySet_Contains(rule->attributes, PyTuple_GET_ITEM(names, argument)) : 0;
            if (is_there != 1) {
                return is_there;
            }
        }
        else {
            return 0;
        }
    }
    return 1;
}

static int
constants_are_plain(const struct rule *rule, PyObject *constants, PyObject *bound, int depth)
{
    Py_ssize_t i;
    int plain = PyTuple_CheckExact(constants);

    for (i = 0; plain == 1 && i < PyTuple_GET_SIZE(constants); i++) {
        if (PyCode_Check(PyTuple_GET_ITEM(constants, i))) {
            plain = look_through(rule, PyTuple_GET_ITEM(constants, i), bound, depth + 1);
        }
    }
    return plain;
}

enum { NAMES, VARIABLES, CELLS, BYTECODE, CONSTANTS, PARTS };

/* Made once, in the zygote: the interpreter notes where it found an attribute, by the address of its name. */
static PyObject *part_names[PARTS];

static int
make_part_names(void)
{
    static const char *const texts[PARTS] = {"co_names", "co_varnames", "co_cellvars", "co_code", "co_consts"};
    int i;

    for (i = 0; i < PARTS; i++) {
        if (part_names[i] == NULL) {
            part_names[i] = PyUnicode_InternFromString(texts[i]);
        }
        if (part_names[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

static void
drop_parts(PyObject **parts)
{
    int i;

    for (i = 0; i < PARTS; i++) {
        Py_XDECREF(parts[i]);
    }
}

/* 1, or -1 with an exception set; both to be dropped. */
static int
take_parts(PyObject *code, PyObject **parts)
{
    int i;

    memset(parts, 0, PARTS * sizeof *parts);
    for (i = 0; i < PARTS; i++) {
        parts[i] = PyObject_GetAttr(code, part_names[i]);
        if (parts[i] == NULL) {
            return -1;
        }
    }
    return 1;
}

/* One code object and all that are nested in it. */
static int
look_through(const struct rule *rule, PyObject *code, PyObject *bound, int depth)
{
    unsigned long flags = (unsigned long)((PyCodeObject *)code)->co_flags;
    PyObject *parts[PARTS];
    int plain;

    if (depth >= MOST_NESTED || flags & ~rule->flags) {
        return 0;
    }
    plain = take_parts(code, parts);
    if (plain == 1) {
        plain = names_are_plain(rule, parts[NAMES]);
    }
    if (plain == 1) {
        plain = variables_are_plain(parts[VARIABLES]) && variables_are_plain(parts[CELLS]);
    }
    if (plain == 1) {
        plain = operations_are_plain(rule, parts[BYTECODE], parts[NAMES], flags, bound);
    }
    if (plain == 1) {
        plain = constants_are_plain(rule, parts[CONSTANTS], bound, depth);
    }
    drop_parts(parts);
    return plain;
}

const char cell_plain_names_doc[] = PyDoc_STR(
"plain_names(code, kinds, flags, anywhere, attributes, builtins, special) -> frozenset or None\n\n"
"The names that a program binds, if it is of the plainest kind that may share a worker; None if the rule has to look.");

PyObject *
cell_plain_names(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct rule rule;
    const char *kinds;
    Py_ssize_t size;
    PyObject *code, *bound, *names = NULL;
    int plain;

    if (!PyArg_ParseTuple(args, "O!y#kO!O!O!O!:plain_names", &PyCode_Type, &code, &kinds, &size, &rule.flags,
                          &PyFrozenSet_Type, &rule.anywhere, &PyFrozenSet_Type, &rule.attributes, &PyDict_Type,
                          &rule.builtins, &PyFrozenSet_Type, &rule.special)) {
        return NULL;
    }
    if (size != 256) {
        PyErr_SetString(PyExc_ValueError, "there are 256 operations");
        return NULL;
    }
    rule.kinds = (const unsigned char *)kinds;
    bound = make_part_names() < 0 ? NULL : PySet_New(NULL);
    if (bound == NULL) {
        return NULL;
    }
    plain = look_through(&rule, code, bound, 0);
    if (plain == 1) {
        names = PyFrozenSet_New(bound);
    }
    else if (plain == 0) {
        names = Py_None;
        Py_INCREF(names);
    }
    Py_DECREF(bound);
    return names;
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

static int
is_empty(PyObject *names)
{
    return PyTuple_CheckExact(names) && PyTuple_GET_SIZE(names) == 0;
}

static int
is_constant(PyObject *object)
{
    return object == Py_None || object == Py_Ellipsis || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
           PyLong_CheckExact(object) || PyBool_Check(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyTuple_CheckExact(object) || PyFrozenSet_CheckExact(object);
}

static int
are_constants(PyObject *constants)
{
    Py_ssize_t i;
    int all = PyTuple_CheckExact(constants);

    for (i = 0; all && i < PyTuple_GET_SIZE(constants); i++) {
        all = is_constant(PyTuple_GET_ITEM(constants, i));
    }
    return all;
}

static int
are_harmless(PyObject *bytecode, const unsigned char *kinds)
{
    Py_ssize_t at;
    int all = PyBytes_CheckExact(bytecode);

    for (at = 0; all && at < PyBytes_GET_SIZE(bytecode); at += 2) {
        all = kinds[(unsigned char)PyBytes_AS_STRING(bytecode)[at]] == PLAIN;
    }
    return all;
}

/* 1 or 0; -1 with an exception set. */
static int
is_callable_here(PyObject *names, PyObject *safe, PyObject *builtins, PyObject *bound)
{
    PyObject *name;
    int is_there;

    if (!PyTuple_CheckExact(names) || PyTuple_GET_SIZE(names) != 1) {
        return 0;
    }
    name = PyTuple_GET_ITEM(names, 0);
    is_there = PySet_Contains(safe, name);
    if (is_there != 0) {
        return is_there;
    }
    is_there = PySet_Contains(bound, name);
    if (is_there != 1) {
        return is_there;
    }
    is_there = PyDict_Contains(builtins, name);
    return is_there < 0 ? -1 : !is_there;
}

const char cell_plain_call_doc[] = PyDoc_STR(
"plain_call(code, kinds, safe, builtins, bound) -> bool\n\n"
"Is this a call of the plainest kind that may share a worker? If not, the rule has to look.");

PyObject *
cell_plain_call(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *code, *safe, *builtins, *bound, *parts[PARTS];
    const char *kinds;
    Py_ssize_t size;
    int plain;

    if (!PyArg_ParseTuple(args, "O!y#O!O!O!:plain_call", &PyCode_Type, &code, &kinds, &size, &PyFrozenSet_Type, &safe,
                          &PyDict_Type, &builtins, &PyFrozenSet_Type, &bound)) {
        return NULL;
    }
    if (size != 256) {
        PyErr_SetString(PyExc_ValueError, "there are 256 operations");
        return NULL;
    }
    if (make_part_names() < 0) {
        return NULL;
    }
    plain = take_parts(code, parts);
    if (plain == 1) {
        plain = is_empty(parts[VARIABLES]) && is_empty(parts[CELLS]) && are_constants(parts[CONSTANTS]) &&
                are_harmless(parts[BYTECODE], (const unsigned char *)kinds);
    }
    if (plain == 1) {
        plain = is_callable_here(parts[NAMES], safe, builtins, bound);
    }
    drop_parts(parts);
    return plain < 0 ? NULL : PyBool_FromLong(plain);
}
