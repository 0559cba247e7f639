/* What the two halves of the native helper share. */
#ifndef CRUXCELL_NATIVE_H
#define CRUXCELL_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Hidden from the dynamic linker: only the module's own start-up function is visible. */
#pragma GCC visibility push(hidden)

/* Once, when the module is imported. 0, or -1 with an exception set. */
int cell_prepare_counting(void);

PyObject *cell_run(PyObject *module, PyObject *args);
PyObject *cell_steps(PyObject *module, PyObject *none);
extern const char cell_run_doc[];
extern const char cell_steps_doc[];

#pragma GCC visibility pop

#endif
