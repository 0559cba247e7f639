/* What the seal between checks compares of classes, and of objects of which only the class is compared.
 *
 * Most of a class changes only by an assignment of which the audit hook hears (`C.__bases__ = ...`, `x.__class__ = C`): on
 * all versions, and not to be undone, as nothing that was heard is forgotten. So after each check only the version tag of
 * its dict and its flags are looked at, which takes two cache lines for each class and not five.
 */
#include "watch.h"

#include <string.h>

/* A class: what is looked at after every check. */
struct type_watch {
    PyTypeObject *type;
    PyObject *dict;
    uint64_t tag;
    unsigned long flags;
    unsigned char place;
};

/* The rest of it, at the same place: looked at where the audit hook heard something, to name what it was. */
struct type_facts {
    PyTypeObject *metatype;
    PyObject *mro, *bases, *name, *qualname;
    uint64_t hash;
};

/* An object of which only the class is compared, as a module: where something was heard, too. */
struct bare_watch {
    PyObject *object;
    PyTypeObject *type;
    unsigned char place;
};

TABLE(type_watch, types);
TABLE(type_facts, facts);
TABLE(bare_watch, bare);

static void
arm(size_t at)
{
    struct type_watch *watch = &types[at];
    struct type_facts *class = &facts[at];
    PyHeapTypeObject *heap = (PyHeapTypeObject *)watch->type;

    watch->dict = watch->type->tp_dict;
    watch->flags = flags_of(watch->type);
    watch->tag = tag_of(watch->dict);
    class->mro = watch->type->tp_mro;
    class->bases = watch->type->tp_bases;
    class->metatype = Py_TYPE(watch->type);
    class->name = heap->ht_name;
    class->qualname = heap->ht_qualname;
    Py_XINCREF(class->mro);
    Py_XINCREF(class->bases);
    Py_INCREF(class->name);
    Py_INCREF(class->qualname);
#if !HAS_TAGS
    class->hash = hash_dict(watch->dict, 1);
#endif
}

static int
add_facts(void)
{
    ADD(facts);
    facts_count++;
    return 0;
}

int
classes_add(PyTypeObject *type, long place)
{
    ADD(types);
    if (add_facts() < 0) {
        return -1;
    }
    Py_INCREF(type);
    types[types_count].type = type;
    types[types_count].place = (unsigned char)place;
    arm(types_count++);
    return 0;
}

int
classes_add_bare(PyObject *object, long place)
{
    ADD(bare);
    Py_INCREF(object);
    bare[bare_count].object = object;
    bare[bare_count].type = Py_TYPE(object);
    bare[bare_count++].place = (unsigned char)place;
    return 0;
}

/* As for fixed types: one that was changed and changed back differs. */
static inline int
type_differs(const struct type_watch *watch)
{
#if HAS_TAGS
    return flags_of(watch->type) != watch->flags || tag_of(watch->dict) != watch->tag;
#else
    return flags_of(watch->type) != watch->flags || hash_dict(watch->dict, 0) != facts[watch - types].hash;
#endif
}

static int
rest_differs(size_t at)
{
    PyTypeObject *type = types[at].type;
    PyHeapTypeObject *heap = (PyHeapTypeObject *)type;
    const struct type_facts *class = &facts[at];

    return type->tp_dict != types[at].dict || type->tp_mro != class->mro || type->tp_bases != class->bases ||
           Py_TYPE(type) != class->metatype || heap->ht_name != class->name || heap->ht_qualname != class->qualname;
}

/* What the audit hook hears of, too: a bit for each place that differs. */
static uint64_t
heard_differs(void)
{
    uint64_t found = 0;
    size_t i;

    for (i = 0; i < types_count; i++) {
        found |= (uint64_t)rest_differs(i) << types[i].place;
    }
    for (i = 0; i < bare_count; i++) {
        found |= (uint64_t)(Py_TYPE(bare[i].object) != bare[i].type) << bare[i].place;
    }
    return found;
}

/* As in watch.c: ahead of what is looked at. */
static inline void
fetch_type(size_t at)
{
    if (at + AHEAD < types_count) {
        FETCH(types[at + AHEAD].type->tp_flags);
        FETCH(((PyDictObject *)types[at + AHEAD].dict)->ma_used);
    }
}

uint64_t
classes_differ(int heard)
{
    uint64_t found = heard ? heard_differs() : 0;
    size_t i;

    for (i = 0; i < types_count; i++) {
        fetch_type(i);
        found |= (uint64_t)type_differs(&types[i]) << types[i].place;
    }
    return found;
}

/* Nothing but the harness has run since the zygote took the snapshot, and it assigns to no class: what only the audit hook
 * hears of is as it was, and need not be looked at in each worker. */
void
classes_arm(void)
{
    size_t i;

    for (i = 0; i < types_count; i++) {
        fetch_type(i);
        if (type_differs(&types[i])) {
            arm(i);
        }
    }
}
