/* What the files of the seal share; see seal.c. */
#ifndef CRUXCELL_WATCH_H
#define CRUXCELL_WATCH_H

#include "native.h"

#include <stdlib.h>

#define HAS_TAGS (PY_VERSION_HEX < 0x030E0000)

#define EXCHANGE(kind, a, b) \
    do {                     \
        kind swapped = (a);  \
        (a) = (b);           \
        (b) = swapped;       \
    } while (0)

/* Where code has run since, little of what is compared is in the processor's caches: it is asked for so many entries
 * ahead. */
#define AHEAD 16
#define FETCH(what) __builtin_prefetch(&(what))

/* Tables of what is watched. */
#define TABLE(kind, name)          \
    static struct kind *name;      \
    static size_t name##_count, name##_room

#pragma GCC visibility push(hidden)

/* Room for one entry more at the end of a table, or NULL with an exception set. */
static inline void *
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
    memset(&name[name##_count], 0, sizeof *name)

static inline uint64_t
mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    return hash ^ hash >> 29;
}

/* A hash of the contents, by the addresses of what is in there. With `keep`, that is kept alive from now on, so that no
 * other object can take its address. */
uint64_t hash_bytes(const char *data, size_t size);
uint64_t hash_dict(PyObject *dict, int keep);

/* A copy of an object's memory: of a list or a set its table, of others the bytes that they were said to have. */
struct object_watch {
    PyObject *object;
    char *copy;
    uint32_t size, room;
    unsigned char place, kind;
};

/* A place in memory that points to an object: of a closure's variable, or of a slot. */
struct pointer_watch {
    PyObject **at, *expected;
    unsigned char place;
};

/* Watch an object; `size`: the bytes of its memory that are compared, 0 for a list or a set. Take the snapshot anew. -1
 * without memory. What it points to is kept alive, as above. */
int object_begin(struct object_watch *watch, PyObject *object, size_t size);
int object_arm(struct object_watch *watch);
int object_differs(const struct object_watch *watch);
void pointer_arm(struct pointer_watch *watch);
int pointer_differs(const struct pointer_watch *watch);
/* Where an attribute is kept, if it is in a place of its own; else NULL, without an exception. */
PyObject **find_pointer(PyObject *object, PyObject *name);
/* Are two answers the same? */
int is_same(PyObject *a, PyObject *b);

/* Classes that Python code can change, and objects of which only the class is compared: add one (-1 without memory), take
 * the snapshot anew; a bit for each place that differs. `heard`: did the audit hook hear of something? */
int classes_add(PyTypeObject *type, long place);
int classes_add_bare(PyObject *object, long place);
void classes_arm(void);
uint64_t classes_differ(int heard);

/* What is no object: take the snapshot; a bit for each place that differs. */
void state_arm(void);
uint64_t state_differs(void);
/* Since the last snapshot: does the filter keep all descriptors and signals as they are? */
int state_is_held(void);

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

/* Has it a version tag that every change gives it anew? On 3.13 not the dict of an object that keeps the values itself:
 * an assignment to an attribute writes them past the dict. */
static inline int
tells_changes(PyObject *dict)
{
#if HAS_TAGS && PY_VERSION_HEX >= 0x030D0000
    return ((PyDictObject *)dict)->ma_values == NULL;
#else
    (void)dict;
    return HAS_TAGS;
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

/* Can Python code change its dict, bases and name? */
static inline int
is_fixed(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030A0000
    return PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
#else
    return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
#endif
}

static inline unsigned long
flags_of(PyTypeObject *type)
{
    return (unsigned long)type->tp_flags & ~(unsigned long)Py_TPFLAGS_VALID_VERSION_TAG;
}

#pragma GCC visibility pop

#endif
