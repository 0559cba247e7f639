/* An audit hook that calls a function of Python's for some events. The interpreter's own hooks are called for each event,
 * and `id` raises one: a script in two processes asks for that about twenty times a call. */
#include "native.h"

#include <string.h>

static PyObject *events, *listener; /* a tuple of texts, and who hears of them */

static int
on_event(const char *event, PyObject *args, void *Py_UNUSED(data))
{
    Py_ssize_t i;

    for (i = 0; i < PyTuple_GET_SIZE(events); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(events, i)); /* which the text keeps */
        if (name == NULL) {
            return -1;
        }
        if (strcmp(name, event) == 0) {
            PyObject *done = PyObject_CallFunction(listener, "sO", event, args == NULL ? Py_None : args);
            Py_XDECREF(done);
            return done == NULL ? -1 : 0;
        }
    }
    return 0;
}

const char cell_hear_doc[] = PyDoc_STR(
"hear(events, listener)\n\n"
"From now on and once in a process: call listener(event, arguments) for the audit events of these names.");

PyObject *
cell_hear(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *names, *function;

    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &names, &function)) {
        return NULL;
    }
    if (listener != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "somebody hears already");
        return NULL;
    }
    Py_INCREF(names);
    Py_INCREF(function);
    events = names;
    listener = function;
    if (PySys_AddAuditHook(on_event, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}
