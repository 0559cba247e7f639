/* A worker's report of a value, built and written in one call. The definition is jobs/context.value_record, with
 * records.value and frames.frame for the layout: what is written here is the same, byte for byte.
 */
#include "native.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Everything is little-endian, as are the machines this runs on. */
struct numbers {
    uint32_t index;
    uint64_t steps, cpu_ns, wall_ns;
};

static int
put_field(struct bytes *bytes, const void *data, size_t size)
{
    uint32_t length = (uint32_t)size;

    return bytes_put(bytes, &length, sizeof length) < 0 ? -1 : bytes_put(bytes, data, size);
}

/* A field whose length is not known before it is written: its place is taken, and filled in by end_field(). */
static size_t
begin_field(struct bytes *bytes)
{
    return bytes_claim(bytes, sizeof(uint32_t)) == NULL ? 0 : bytes->size;
}

static void
end_field(struct bytes *bytes, size_t begin)
{
    uint32_t length = (uint32_t)(bytes->size - begin);

    memcpy(bytes->data + begin - sizeof length, &length, sizeof length);
}

static int
put_numbers(struct bytes *bytes, const struct numbers *numbers)
{
    char packed[NUMBERS_SIZE] = {0}; /* the flags are 0 */

    memcpy(packed + INDEX_IN_NUMBERS, &numbers->index, 4);
    memcpy(packed + STEPS_IN_NUMBERS, &numbers->steps, 8);
    memcpy(packed + CPU_NS_IN_NUMBERS, &numbers->cpu_ns, 8);
    memcpy(packed + WALL_NS_IN_NUMBERS, &numbers->wall_ns, 8);
    return put_field(bytes, packed, sizeof packed);
}

/* Kind and canonical encoding. */
static int
put_canonical(struct bytes *bytes, PyObject *value, Py_ssize_t budget)
{
    size_t kind, begin;
    int has_nan;

    if (put_field(bytes, (const char[]){ENCODED_PLAIN}, 1) < 0) {
        return -1;
    }
    kind = bytes->size - 1;
    begin = begin_field(bytes);
    if (begin == 0 || encode_plainly(bytes, value, budget, &has_nan) < 0) {
        return -1;
    }
    end_field(bytes, begin);
    if (has_nan) {
        bytes->data[kind] = ENCODED_HOLDS_NAN;
    }
    return 0;
}

/* The value for people: its repr, cut to so many characters, and a NUL if something was cut. */
static int
put_shown(struct bytes *bytes, PyObject *value, Py_ssize_t limit)
{
    PyObject *text = PyObject_Repr(value);
    Py_ssize_t count;
    size_t begin = begin_field(bytes);
    int result;

    if (text == NULL) { /* no memory, say: the caller's twin of this has words for it */
        PyErr_Clear();
        return -1;
    }
    count = PyUnicode_GET_LENGTH(text) < limit ? PyUnicode_GET_LENGTH(text) : limit;
    result = begin == 0 ? -1 : bytes_put_utf8(bytes, text, count, bytes_utf8_size(text, count));
    if (result == 0 && count < PyUnicode_GET_LENGTH(text)) {
        result = bytes_put(bytes, "", 1);
    }
    Py_DECREF(text);
    if (result == 0) {
        end_field(bytes, begin);
    }
    return result;
}

/* The whole frame. What is read of the value is read before its repr, which may start a garbage collection. */
static int
put_record(struct bytes *bytes, const struct numbers *numbers, PyObject *value, Py_ssize_t budget,
           Py_ssize_t text_limit)
{
    return begin_field(bytes) == 0 || put_field(bytes, (const char[]){RECORD_VALUE}, 1) < 0 || put_numbers(bytes, numbers) < 0 ||
                   put_canonical(bytes, value, budget) < 0 || put_shown(bytes, value, text_limit) < 0
               ? -1
               : 0;
}

static int
put_output(struct bytes *bytes, PyObject *stream)
{
    return put_field(bytes, PyBytes_AS_STRING(stream), (size_t)PyBytes_GET_SIZE(stream));
}

const char cell_report_value_doc[] = PyDoc_STR(
"report_value(fd, index, steps, cpu_ns, wall_ns, value, budget, text_limit, stdout, stderr) -> bool\n\n"
"Write the record of a plain value to the file descriptor. False, and nothing written, for a value that is not\n"
"made of exact builtin types, or too large. Raises OSError.");

PyObject *
cell_report_value(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct numbers numbers;
    struct bytes bytes;
    unsigned long long steps, cpu_ns, wall_ns;
    unsigned int index;
    PyObject *value, *out, *err;
    Py_ssize_t budget, text_limit;
    int fd, is_mine, result = 0;

    if (!PyArg_ParseTuple(args, "iIKKKOnnSS:report_value", &fd, &index, &steps, &cpu_ns, &wall_ns, &value, &budget,
                          &text_limit, &out, &err)) {
        return NULL;
    }
    numbers = (struct numbers){index, steps, cpu_ns, wall_ns};
    bytes_begin(&bytes);
    is_mine = put_record(&bytes, &numbers, value, budget, text_limit) == 0 && put_output(&bytes, out) == 0 &&
              put_output(&bytes, err) == 0;
    if (is_mine) {
        end_field(&bytes, sizeof(uint32_t));
        result = cell_tell(fd, bytes.data, bytes.size);
    }
    bytes_end(&bytes);
    return result < 0 ? NULL : PyBool_FromLong(is_mine);
}
