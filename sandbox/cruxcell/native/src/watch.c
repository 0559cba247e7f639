/* What the seal between checks compares: the state of the interpreter that a check could leave behind.
 *
 * seal.py says what is watched, once, in the zygote; watch_arm() takes the snapshot in a worker before its first check,
 * and watch_differs() compares. A dict is compared by its version tag; only where that has changed (or there is none,
 * from 3.14 on) by what it holds. Whatever the snapshot points to is kept alive, so that no other object can take its
 * address. Everything here is in C memory, which no Python code can reach without native code of its own.
 */
#include "native.h"

#include <frameobject.h>

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if PY_VERSION_HEX >= 0x030D0000 /* 3.13 keeps it in a header of its own */
int _PySet_NextEntry(PyObject *set, Py_ssize_t *at, PyObject **key, Py_hash_t *hash);
#endif

#define HAS_TAGS (PY_VERSION_HEX < 0x030E0000)
#define MOST_FRAMES 32
#define MOST_STREAMS 5 /* standard streams, report, progress */

struct dict_watch {
    PyObject *dict;
    uint64_t tag, hash;
    unsigned char place;
};

struct type_watch {
    PyTypeObject *type;
    PyObject *dict, *mro, *bases;
    uint64_t tag, hash;
    unsigned long flags;
    unsigned char place;
};

struct function_watch {
    PyFunctionObject *function;
    PyObject *code, *defaults, *kwdefaults, *closure;
    unsigned char place;
};

/* A list, a set, the type of any object, or `size` bytes of its memory. */
struct object_watch {
    PyObject *object;
    Py_ssize_t size;
    uint64_t hash;
    PyTypeObject *type;
    unsigned char place;
};

/* A function of the interpreter that is asked again and must answer the same. */
struct probe {
    PyObject *function, *arguments, *expected;
    unsigned char place;
};

#define TABLE(kind, name)          \
    static struct kind *name;      \
    static size_t name##_count, name##_room

TABLE(dict_watch, dicts);
TABLE(type_watch, types);
TABLE(function_watch, functions);
TABLE(object_watch, objects);
TABLE(probe, probes);

static PyObject *frames[MOST_FRAMES]; /* the code of each frame below the loop; borrowed, they never end */
static int frame_count;
static int recursion_limit;
static uint64_t locale_hash, context_hash, descriptors_hash;

/* ---- hashes ------------------------------------------------------------------------------------------------ */

static inline uint64_t
mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    return hash ^ hash >> 29;
}

static uint64_t
hash_bytes(const char *data, size_t size)
{
    uint64_t hash = size;
    uint64_t word;

    for (; size >= sizeof word; size -= sizeof word, data += sizeof word) {
        memcpy(&word, data, sizeof word);
        hash = mix(hash, word);
    }
    for (; size > 0; size--, data++) {
        hash = mix(hash, (unsigned char)*data);
    }
    return hash;
}

static uint64_t
hash_dict(PyObject *dict, int keep)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    uint64_t hash = (uint64_t)PyDict_Size(dict);

    while (PyDict_Next(dict, &at, &key, &value)) {
        hash = mix(mix(hash, (uintptr_t)key), (uintptr_t)value);
        if (keep) {
            Py_INCREF(key);
            Py_INCREF(value);
        }
    }
    return hash;
}

static uint64_t
hash_list(PyObject *list, int keep)
{
    Py_ssize_t i, size = PyList_GET_SIZE(list);
    uint64_t hash = (uint64_t)size;

    for (i = 0; i < size; i++) {
        hash = mix(hash, (uintptr_t)PyList_GET_ITEM(list, i));
        if (keep) {
            Py_INCREF(PyList_GET_ITEM(list, i));
        }
    }
    return hash;
}

/* The items of a set may stand in any order. */
static uint64_t
hash_set(PyObject *set, int keep)
{
    PyObject *item;
    Py_ssize_t at = 0;
    Py_hash_t unused;
    uint64_t hash = (uint64_t)PySet_GET_SIZE(set);

    while (_PySet_NextEntry(set, &at, &item, &unused)) {
        hash += mix(0, (uintptr_t)item);
        if (keep) {
            Py_INCREF(item);
        }
    }
    return hash;
}

static uint64_t
hash_object(const struct object_watch *watch, int keep)
{
    if (watch->size > 0) {
        return hash_bytes((const char *)watch->object + sizeof(PyObject), (size_t)watch->size - sizeof(PyObject));
    }
    if (PyList_Check(watch->object)) {
        return hash_list(watch->object, keep);
    }
    return PyAnySet_Check(watch->object) ? hash_set(watch->object, keep) : 0;
}

static inline uint64_t
tag_of(PyObject *dict)
{
#if HAS_TAGS
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return ((PyDictObject *)dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
    (void)dict;
    return 0;
#endif
}

static inline PyObject *
dict_of(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type);

    Py_XDECREF(dict); /* the type keeps it */
    return dict;
#else
    return type->tp_dict;
#endif
}

static inline unsigned long
flags_of(PyTypeObject *type)
{
    return (unsigned long)type->tp_flags & ~(unsigned long)Py_TPFLAGS_VALID_VERSION_TAG;
}

/* ---- what is not an object --------------------------------------------------------------------------------- */

/* The code of the frames on the stack, the innermost first. */
static int
walk_frames(PyObject **codes)
{
    PyFrameObject *frame = PyEval_GetFrame();
    int count = 0;

#if PY_VERSION_HEX < 0x03090000
    for (; frame != NULL && count < MOST_FRAMES; frame = frame->f_back) {
        codes[count++] = (PyObject *)frame->f_code;
    }
#else
    Py_XINCREF(frame);
    while (frame != NULL && count < MOST_FRAMES) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);

        codes[count++] = (PyObject *)code;
        Py_DECREF(code); /* the frame keeps it */
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
#endif
    return count;
}

/* Which files the worker's descriptors are, how they are open, and which number is the next free one. */
static uint64_t
hash_descriptors(void)
{
    struct stat facts;
    uint64_t hash = 0;
    int fd, next;

    for (fd = 0; fd < MOST_STREAMS; fd++) {
        if (fstat(fd, &facts) == 0) {
            hash = mix(mix(hash, facts.st_dev), facts.st_ino);
        }
        hash = mix(hash, fd < 3 ? 0 : (uint64_t)fcntl(fd, F_GETFL));
    }
    next = dup(MOST_STREAMS - 1);
    if (next >= 0) {
        close(next);
    }
    return mix(hash, (uint64_t)next);
}

static uint64_t
hash_locale(void)
{
    const char *name = setlocale(LC_ALL, NULL);

    return name == NULL ? 0 : hash_bytes(name, strlen(name));
}

/* The context variables that are set. */
static uint64_t
hash_context(void)
{
    PyObject *context = PyContext_CopyCurrent();
    PyObject *keys = NULL, *key, *value;
    uint64_t hash = 0;

    if (context != NULL && PyObject_Size(context) > 0) {
        keys = PyObject_GetIter(context);
    }
    while (keys != NULL && (key = PyIter_Next(keys)) != NULL) {
        value = PyObject_GetItem(context, key);
        hash += mix(mix(1, (uintptr_t)key), (uintptr_t)value);
        Py_DECREF(key);
        Py_XDECREF(value);
    }
    Py_XDECREF(keys);
    Py_XDECREF(context);
    PyErr_Clear();
    return hash;
}

static int
has_company(void)
{
    PyThreadState *thread = PyThreadState_Get();

    return PyThreadState_Next(PyInterpreterState_ThreadHead(thread->interp)) != NULL;
}

/* ---- the list of what is watched --------------------------------------------------------------------------- */

/* Room for one entry more at the end of a table, or NULL with an exception set. */
static void *
grow(void *table, size_t count, size_t *room, size_t size)
{
    void *grown;

    if (count < *room) {
        return table;
    }
    *room = *room == 0 ? 64 : *room * 2;
    grown = realloc(table, *room * size);
    if (grown == NULL) {
        PyErr_NoMemory();
    }
    return grown;
}

#define ADD(name)                                                                         \
    void *grown = grow(name, name##_count, &name##_room, sizeof *name);                   \
    if (grown == NULL) {                                                                  \
        return -1;                                                                        \
    }                                                                                     \
    name = grown;                                                                         \
    memset(&name[name##_count], 0, sizeof *name);                                         \
    name[name##_count].place = (unsigned char)place

static int
add_dict(PyObject *dict, long place)
{
    ADD(dicts);
    Py_INCREF(dict);
    dicts[dicts_count].dict = dict;
    dicts[dicts_count].tag = tag_of(dict);
    dicts[dicts_count++].hash = hash_dict(dict, 1);
    return 0;
}

static int
add_type(PyTypeObject *type, long place)
{
    ADD(types);
    Py_INCREF(type);
    types[types_count].type = type;
    types[types_count].tag = ~(uint64_t)0; /* taken when armed: types may be made ready until then */
    types[types_count++].dict = NULL;
    return 0;
}

static int
add_function(PyFunctionObject *function, long place)
{
    ADD(functions);
    Py_INCREF(function);
    functions[functions_count++].function = function;
    return 0;
}

static int
add_object(PyObject *object, Py_ssize_t size, long place)
{
    ADD(objects);
    Py_INCREF(object);
    objects[objects_count].object = object;
    objects[objects_count].size = size;
    objects[objects_count].hash = hash_object(&objects[objects_count], 1);
    objects_count++;
    return 0;
}

static int
add_probe(PyObject *function, PyObject *arguments, long place)
{
    ADD(probes);
    Py_INCREF(function);
    Py_INCREF(arguments);
    probes[probes_count].function = function;
    probes[probes_count].expected = NULL;
    probes[probes_count++].arguments = arguments;
    return 0;
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
        return add_probe(object, third, place);
    }
    if (third != NULL) {
        Py_ssize_t size = PyLong_AsSsize_t(third);
        return size < (Py_ssize_t)sizeof(PyObject) ? -1 : add_object(object, size, place);
    }
    if (PyDict_Check(object)) {
        return add_dict(object, place);
    }
    if (PyType_Check(object)) {
        return add_type((PyTypeObject *)object, place);
    }
    if (PyFunction_Check(object)) {
        return add_function((PyFunctionObject *)object, place);
    }
    return add_object(object, 0, place);
}

const char cell_watch_doc[] = PyDoc_STR(
"watch(entries) -> None\n\n"
"Compare these between checks, too: tuples of a place in messages.SEAL_NAMES and an object; or a function and its\n"
"arguments, to be asked; or an object and the number of bytes it has.");

PyObject *
cell_watch(PyObject *Py_UNUSED(module), PyObject *entries)
{
    Py_ssize_t i;

    if (!PyList_Check(entries)) {
        PyErr_SetString(PyExc_TypeError, "watch takes a list of tuples");
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

static int dict_differs(struct dict_watch *watch);

/* ---- the snapshot ------------------------------------------------------------------------------------------ */

static void
arm_type(struct type_watch *watch)
{
    watch->dict = dict_of(watch->type);
    watch->mro = watch->type->tp_mro;
    watch->bases = watch->type->tp_bases;
    watch->flags = flags_of(watch->type);
    watch->tag = watch->dict == NULL ? 0 : tag_of(watch->dict);
#if !HAS_TAGS
    watch->hash = watch->dict == NULL ? 0 : hash_dict(watch->dict, 1);
#endif
}

/* Nothing but the harness has run since all was found as it was: what it keeps for itself may be another now. */
void
watch_rebase(void)
{
    size_t i;

    for (i = 0; i < dicts_count; i++) {
        if (dicts[i].place == PLACE_HARNESS && dict_differs(&dicts[i])) {
            dicts[i].hash = hash_dict(dicts[i].dict, 1);
            dicts[i].tag = tag_of(dicts[i].dict);
        }
    }
    for (i = 0; i < objects_count; i++) {
        if (objects[i].place == PLACE_HARNESS) {
            uint64_t hash = hash_object(&objects[i], 0);
            if (hash != objects[i].hash) {
                objects[i].hash = hash_object(&objects[i], 1);
            }
        }
    }
}

/* -1 with an exception set when a probe does not answer. */
int
watch_arm(void)
{
    size_t i;

    for (i = 0; i < dicts_count; i++) {
        if (!HAS_TAGS || dicts[i].tag != tag_of(dicts[i].dict)) {
            dicts[i].hash = hash_dict(dicts[i].dict, 1);
            dicts[i].tag = tag_of(dicts[i].dict);
        }
    }
    for (i = 0; i < types_count; i++) {
        arm_type(&types[i]);
    }
    for (i = 0; i < functions_count; i++) {
        struct function_watch *watch = &functions[i];
        watch->code = watch->function->func_code;
        watch->defaults = watch->function->func_defaults;
        watch->kwdefaults = watch->function->func_kwdefaults;
        watch->closure = watch->function->func_closure;
    }
    for (i = 0; i < objects_count; i++) {
        uint64_t hash = hash_object(&objects[i], 0);
        objects[i].type = Py_TYPE(objects[i].object);
        if (hash != objects[i].hash) {
            objects[i].hash = hash_object(&objects[i], 1);
        }
    }
    for (i = 0; i < probes_count; i++) {
        Py_XDECREF(probes[i].expected);
        probes[i].expected = PyObject_Call(probes[i].function, probes[i].arguments, NULL);
        if (probes[i].expected == NULL) {
            return -1;
        }
    }
    frame_count = walk_frames(frames);
    recursion_limit = Py_GetRecursionLimit();
    locale_hash = hash_locale();
    context_hash = hash_context();
    descriptors_hash = hash_descriptors();
    return 0;
}

/* ---- the comparison ---------------------------------------------------------------------------------------- */

static int
dict_differs(struct dict_watch *watch)
{
    uint64_t tag = tag_of(watch->dict);

    if (HAS_TAGS && tag == watch->tag) {
        return 0;
    }
    if (hash_dict(watch->dict, 0) != watch->hash) {
        return 1;
    }
    watch->tag = tag;
    return 0;
}

/* A type's dict that was changed and changed back differs: the interpreter may remember what it found meanwhile. */
static int
type_differs(const struct type_watch *watch)
{
    if (dict_of(watch->type) != watch->dict || watch->type->tp_mro != watch->mro ||
        watch->type->tp_bases != watch->bases || flags_of(watch->type) != watch->flags) {
        return 1;
    }
    if (watch->dict == NULL) {
        return 0;
    }
#if HAS_TAGS
    return tag_of(watch->dict) != watch->tag;
#else
    return hash_dict(watch->dict, 0) != watch->hash;
#endif
}

static int
function_differs(const struct function_watch *watch)
{
    return watch->function->func_code != watch->code || watch->function->func_defaults != watch->defaults ||
           watch->function->func_kwdefaults != watch->kwdefaults || watch->function->func_closure != watch->closure;
}

/* Are two answers the same? Only what compares without anybody's code is looked into. */
static int
same(PyObject *a, PyObject *b)
{
    Py_ssize_t i;

    if (a == b) {
        return 1;
    }
    if (Py_TYPE(a) != Py_TYPE(b)) {
        return 0;
    }
    if (PyLong_CheckExact(a) || PyFloat_CheckExact(a) || PyUnicode_CheckExact(a)) {
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    }
    if (!PyTuple_Check(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) {
        return 0;
    }
    for (i = 0; i < PyTuple_GET_SIZE(a); i++) {
        if (!same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) {
            return 0;
        }
    }
    return 1;
}

static int
probe_differs(const struct probe *probe)
{
    PyObject *answer = PyObject_Call(probe->function, probe->arguments, NULL);
    int result = answer == NULL || !same(answer, probe->expected);

    Py_XDECREF(answer);
    PyErr_Clear();
    return result;
}

static uint64_t
interpreter_differs(void)
{
    PyObject *now[MOST_FRAMES];
    PyThreadState *thread = PyThreadState_Get();
    uint64_t found = 0;

    if (walk_frames(now) != frame_count || memcmp(now, frames, sizeof now[0] * (size_t)frame_count) != 0) {
        found |= 1ULL << PLACE_FRAMES;
    }
    if (thread->c_tracefunc != NULL || thread->c_profilefunc != NULL) {
        found |= 1ULL << PLACE_HOOKS;
    }
    if (Py_GetRecursionLimit() != recursion_limit) {
        found |= 1ULL << PLACE_LIMITS;
    }
    if (hash_locale() != locale_hash) {
        found |= 1ULL << PLACE_LOCALE;
    }
    if (hash_context() != context_hash) {
        found |= 1ULL << PLACE_CONTEXT;
    }
    if (hash_descriptors() != descriptors_hash) {
        found |= 1ULL << PLACE_DESCRIPTORS;
    }
    if (has_company()) {
        found |= 1ULL << PLACE_THREADS;
    }
    return found;
}

uint64_t
watch_differs(void)
{
    uint64_t found = interpreter_differs();
    size_t i;

    for (i = 0; i < dicts_count; i++) {
        found |= (uint64_t)dict_differs(&dicts[i]) << dicts[i].place;
    }
    for (i = 0; i < types_count; i++) {
        found |= (uint64_t)type_differs(&types[i]) << types[i].place;
    }
    for (i = 0; i < functions_count; i++) {
        found |= (uint64_t)function_differs(&functions[i]) << functions[i].place;
    }
    for (i = 0; i < objects_count; i++) {
        int differs = Py_TYPE(objects[i].object) != objects[i].type || hash_object(&objects[i], 0) != objects[i].hash;
        found |= (uint64_t)differs << objects[i].place;
    }
    if (found != 0) {
        return found; /* what is asked next may be somebody else's */
    }
    for (i = 0; i < probes_count; i++) {
        found |= (uint64_t)probe_differs(&probes[i]) << probes[i].place;
    }
    return found;
}
