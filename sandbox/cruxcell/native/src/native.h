/* What the parts of the native helper share. */
#ifndef CRUXCELL_NATIVE_H
#define CRUXCELL_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "protocol.h"

/* Hidden from the dynamic linker: only the module's own start-up function is visible. */
#pragma GCC visibility push(hidden)

/* Once, when the module is imported. 0, or -1 with an exception set. */
int cell_prepare_counting(void);

/* Bytes that grow, in `small` as long as they fit in there. Functions give -1, or NULL, when there is no memory. */
struct bytes {
    char *data;
    size_t size, room;
    char small[1000];
};

void bytes_begin(struct bytes *bytes);
void bytes_end(struct bytes *bytes);
/* Room for `more` bytes, to be filled in by the caller. */
char *bytes_claim(struct bytes *bytes, size_t more);
int bytes_put(struct bytes *bytes, const void *data, size_t size);
/* The opening letter, the decimal number, the closing letter. */
int bytes_put_number(struct bytes *bytes, char opening, long long number, char closing);
/* The first `count` characters of a str in UTF-8, which takes `size` bytes; lone surrogates pass. */
size_t bytes_utf8_size(PyObject *text, Py_ssize_t count);
int bytes_put_utf8(struct bytes *bytes, PyObject *text, Py_ssize_t count, size_t size);

/* Append the canonical encoding of a value of exact builtin types. -1, without an exception, if it is anything else,
 * or nested too deep, or takes more than `budget` bytes. */
int encode_plainly(struct bytes *bytes, PyObject *value, Py_ssize_t budget, int *has_nan);

/* Is code of a task being evaluated? */
int cell_is_running(void);
/* For the seal: this code of a task begins; the step counter is being switched. */
void cell_seal_run(PyObject *code);
void cell_seal_switching(int on);
/* Write all of it, as something that the harness says. 0, or -1 with an exception set. */
int cell_tell(int fd, const char *data, size_t size);
int cell_keep_tokens(const char *data, size_t size);
/* Take the snapshot of what is watched; 0, or -1 with an exception set. Then: a bit for each place that differs; `heard`:
 * did the audit hook hear of something? Then what it hears of is looked at, too. */
int watch_arm(void);
uint64_t watch_differs(int heard);
int watch_rebase(void); /* as watch_arm, for what is the harness's own */

PyObject *cell_plain_names(PyObject *module, PyObject *args);
PyObject *cell_plain_call(PyObject *module, PyObject *args);
PyObject *cell_run(PyObject *module, PyObject *args);
PyObject *cell_evaluate(PyObject *module, PyObject *args);
PyObject *cell_steps(PyObject *module, PyObject *none);
PyObject *cell_read_frame(PyObject *module, PyObject *args);
PyObject *cell_read_payload(PyObject *module, PyObject *args);
PyObject *cell_watch(PyObject *module, PyObject *entries);
PyObject *cell_hear(PyObject *module, PyObject *args);
PyObject *cell_say(PyObject *module, PyObject *args);
PyObject *cell_arm(PyObject *module, PyObject *none);
PyObject *cell_seal(PyObject *module, PyObject *args);
PyObject *cell_report_value(PyObject *module, PyObject *args);
PyObject *cell_keep_arenas(PyObject *module, PyObject *most);
PyObject *cell_set_order(PyObject *module, PyObject *set);
PyObject *cell_fill_set(PyObject *module, PyObject *args);
PyObject *cell_not_as_before(PyObject *module, PyObject *entries);
PyObject *cell_alone(PyObject *module, PyObject *entries);
PyObject *cell_end_as(PyObject *module, PyObject *child);
extern const char cell_plain_names_doc[];
extern const char cell_plain_call_doc[];
extern const char cell_run_doc[];
extern const char cell_evaluate_doc[];
extern const char cell_steps_doc[];
extern const char cell_read_frame_doc[];
extern const char cell_read_payload_doc[];
extern const char cell_watch_doc[];
extern const char cell_hear_doc[];
extern const char cell_say_doc[];
extern const char cell_arm_doc[];
extern const char cell_seal_doc[];
extern const char cell_report_value_doc[];
extern const char cell_keep_arenas_doc[];
extern const char cell_set_order_doc[];
extern const char cell_fill_set_doc[];
extern const char cell_not_as_before_doc[];
extern const char cell_alone_doc[];
extern const char cell_end_as_doc[];

#pragma GCC visibility pop

#endif
