/* The canonical encoder of the native helper.
 *
 * values/canonical.py is the definition, for every value there is. This is the same for the values nearly every check has: those
 * made of exact builtin types, read through their own structures. Each page that a forked worker writes to costs about
 * 2 us, and executing Python writes to very many: to its code, functions, types and frames. This writes to next to
 * none.
 *
 * Until an encoding is finished nothing here runs Python code, calls a method, makes a Python object or holds a
 * reference. So no finalizer of the candidate, and no garbage collection that would call one, can change what is being
 * read. Whatever is unusual is "not mine": the caller then asks
 * values/canonical.py, which decides, and raises if need be.
 */
#include "native.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200 /* values/canonical.py has it too */
#define TWO_TO_63 0x1p63
#define NOT_MINE (-1)

#if PY_VERSION_HEX < 0x030C0000 /* up to 3.11 a string can be one whose characters are still to be put in place */
#define IS_READY(text) PyUnicode_IS_READY(text)
#else
#define IS_READY(text) 1
#endif

struct run {
    struct bytes *bytes;
    long long budget; /* bytes that may still be encoded; nested values count once for each level */
    int has_nan;
};

/* ---- each function encodes one exact type, or answers NOT_MINE -------------------------------------------------- */

static int encode(struct run *run, PyObject *value, int depth);

static int
encode_int(struct run *run, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

    return overflow ? NOT_MINE : bytes_put_number(run->bytes, 'i', number, ';');
}

static int
encode_float(struct run *run, double value)
{
    char bytes[9] = {'f'};
    uint64_t bits;
    int i;

    if (value != value) {
        run->has_nan = 1;
        return bytes_put(run->bytes, "N", 1);
    }
    if (value >= -TWO_TO_63 && value < TWO_TO_63) {
        if ((double)(long long)value == value) {
            return bytes_put_number(run->bytes, 'i', (long long)value, ';');
        }
    }
    else if (value - value == 0) { /* finite, so a whole number of more than 64 bits */
        return NOT_MINE;
    }
    memcpy(&bits, &value, sizeof bits);
    for (i = 8; i > 0; i--, bits >>= 8) {
        bytes[i] = (char)bits;
    }
    return bytes_put(run->bytes, bytes, sizeof bytes);
}

static int
encode_str(struct run *run, PyObject *value)
{
    Py_ssize_t count = PyUnicode_GET_LENGTH(value);
    size_t size;

    if (count > run->budget || !IS_READY(value)) {
        return NOT_MINE;
    }
    size = bytes_utf8_size(value, count);
    if (bytes_put_number(run->bytes, 's', (long long)size, ':') < 0) {
        return NOT_MINE;
    }
    return bytes_put_utf8(run->bytes, value, count, size);
}

static int
encode_bytes(struct run *run, PyObject *value)
{
    Py_ssize_t size = PyBytes_GET_SIZE(value);

    if (size > run->budget || bytes_put_number(run->bytes, 'b', size, ':') < 0) {
        return NOT_MINE;
    }
    return bytes_put(run->bytes, PyBytes_AS_STRING(value), (size_t)size);
}

static int
encode_items(struct run *run, char opening, PyObject **items, Py_ssize_t count, int depth)
{
    Py_ssize_t i;

    if (bytes_put_number(run->bytes, opening, count, ':') < 0) {
        return NOT_MINE;
    }
    for (i = 0; i < count; i++) {
        /* NULL: a list or tuple that was found by the garbage collector before it was finished */
        if (items[i] == NULL || encode(run, items[i], depth + 1) < 0) {
            return NOT_MINE;
        }
    }
    return 0;
}

/* ---- sets and dicts: members in the order of their encodings ---------------------------------------------------- */

/* Where a member's encoding is: its offset while members are added, its address while they are sorted. */
struct span {
    union {
        size_t offset;
        const char *data;
    } at;
    size_t size;
};

static int
compare(const void *one, const void *other)
{
    const struct span *a = one, *b = other;
    int order = memcmp(a->at.data, b->at.data, a->size < b->size ? a->size : b->size);

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Put the encodings from the first span to the end of `run` in order. */
static int
sort(struct run *run, struct span *spans, size_t count)
{
    size_t begin = spans[0].at.offset, size = run->bytes->size - begin, i;
    char *copy = malloc(size), *to = run->bytes->data + begin;

    if (copy == NULL) {
        return NOT_MINE;
    }
    memcpy(copy, run->bytes->data + begin, size);
    for (i = 0; i < count; i++) {
        spans[i].at.data = copy + (spans[i].at.offset - begin);
    }
    qsort(spans, count, sizeof *spans, compare);
    for (i = 0; i < count; i++) {
        memcpy(to, spans[i].at.data, spans[i].size);
        to += spans[i].size;
    }
    free(copy);
    return 0;
}

/* The next member of a set or pair of a dict; false at the end. A set has no `value`. */
static int
next_member(PyObject *whole, Py_ssize_t *at, PyObject **key, PyObject **value)
{
    *value = NULL;
    if (PyDict_CheckExact(whole)) {
        return PyDict_Next(whole, at, key, value);
    }
    for (; *at <= ((PySetObject *)whole)->mask; ++*at) {
        const setentry *entry = &((PySetObject *)whole)->table[*at];
        if (entry->key != NULL && entry->hash != -1) { /* -1: a member was here and has been discarded */
            *key = entry->key;
            ++*at;
            return 1;
        }
    }
    return 0;
}

static int
encode_members(struct run *run, PyObject *whole, struct span *spans, Py_ssize_t count, int depth)
{
    Py_ssize_t at = 0, i = 0;
    PyObject *key, *value;

    for (; next_member(whole, &at, &key, &value); i++) {
        size_t before = run->bytes->size;
        if (i == count || encode(run, key, depth + 1) < 0 || (value != NULL && encode(run, value, depth + 1) < 0)) {
            return NOT_MINE;
        }
        spans[i].at.offset = before;
        spans[i].size = run->bytes->size - before;
    }
    if (i != count) {
        return NOT_MINE;
    }
    return count < 2 ? 0 : sort(run, spans, (size_t)count);
}

static int
encode_unordered(struct run *run, char opening, PyObject *whole, Py_ssize_t count, int depth)
{
    struct span few[8], *spans = few;
    int result;

    if (count > run->budget || bytes_put_number(run->bytes, opening, count, ':') < 0) {
        return NOT_MINE;
    }
    if (count > (Py_ssize_t)(sizeof few / sizeof few[0])) {
        spans = malloc((size_t)count * sizeof *spans);
        if (spans == NULL) {
            return NOT_MINE;
        }
    }
    result = encode_members(run, whole, spans, count, depth);
    if (spans != few) {
        free(spans);
    }
    return result;
}

static int
encode_kind(struct run *run, PyObject *value, int depth)
{
    if (value == Py_None) {
        return bytes_put(run->bytes, "n", 1);
    }
    if (PyBool_Check(value)) {
        return bytes_put(run->bytes, value == Py_True ? "i1;" : "i0;", 3);
    }
    if (PyLong_CheckExact(value)) {
        return encode_int(run, value);
    }
    if (PyFloat_CheckExact(value)) {
        return encode_float(run, PyFloat_AS_DOUBLE(value));
    }
    if (PyUnicode_CheckExact(value)) {
        return encode_str(run, value);
    }
    if (PyBytes_CheckExact(value)) {
        return encode_bytes(run, value);
    }
    if (PyList_CheckExact(value)) {
        return encode_items(run, '[', ((PyListObject *)value)->ob_item, PyList_GET_SIZE(value), depth);
    }
    if (PyTuple_CheckExact(value)) {
        return encode_items(run, '(', ((PyTupleObject *)value)->ob_item, PyTuple_GET_SIZE(value), depth);
    }
    if (PyDict_CheckExact(value)) {
        return encode_unordered(run, '{', value, ((PyDictObject *)value)->ma_used, depth);
    }
    if (PyAnySet_CheckExact(value)) {
        return encode_unordered(run, '<', value, PySet_GET_SIZE(value), depth);
    }
    return NOT_MINE;
}

static int
encode(struct run *run, PyObject *value, int depth)
{
    size_t before = run->bytes->size;

    if (depth > MAX_DEPTH || encode_kind(run, value, depth) < 0) {
        return NOT_MINE;
    }
    run->budget -= (long long)(run->bytes->size - before);
    return run->budget < 0 ? NOT_MINE : 0;
}

int
encode_plainly(struct bytes *bytes, PyObject *value, Py_ssize_t budget, int *has_nan)
{
    struct run run = {bytes, budget, 0};
    int result = encode(&run, value, 0);

    *has_nan = run.has_nan;
    return result;
}
