/* What the seal between checks compares of classes beside their dicts, and of objects of which only the class is compared.
 *
 * Most of a class changes only by an assignment of which the audit hook hears (`C.__bases__ = ...`, `x.__class__ = C`): on
 * all versions, and not to be undone, as nothing that was heard is forgotten. Its dict stands in the list of dicts
 * (watch.c). Its flags change in three ways. Assigned bases are heard. `C.__abstractmethods__ = ...` and `_abc._abc_init`
 * write to its dict, and the version tag of a class's dict may not change at all. `Sequence.register` makes the number
 * greater that `_abc.get_cache_token` gives, which is asked after each check. So flags are looked at only where dicts have
 * no tags.
 */
#include "watch.h"

#include <string.h>

/* A class. All but its flags is looked at where the audit hook heard something, to name what it was. */
struct type_watch {
    PyTypeObject *type, *metatype;
    PyObject *dict, *mro, *bases, *name, *qualname;
    unsigned long flags;
    unsigned char place;
};

/* An object of which only the class is compared, as a module: where something was heard, too. */
struct bare_watch {
    PyObject *object;
    PyTypeObject *type;
    unsigned char place;
};

TABLE(type_watch, types);
TABLE(bare_watch, bare);

static void
arm(size_t at)
{
    struct type_watch *watch = &types[at];
    PyHeapTypeObject *heap = (PyHeapTypeObject *)watch->type;

    watch->flags = flags_of(watch->type);
    watch->dict = watch->type->tp_dict;
    watch->mro = watch->type->tp_mro;
    watch->bases = watch->type->tp_bases;
    watch->metatype = Py_TYPE(watch->type);
    watch->name = heap->ht_name;
    watch->qualname = heap->ht_qualname;
    Py_XINCREF(watch->mro);
    Py_XINCREF(watch->bases);
    Py_INCREF(watch->name);
    Py_INCREF(watch->qualname);
}

int
classes_add(PyTypeObject *type, long place)
{
    ADD(types);
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

static int
type_differs(const struct type_watch *watch)
{
    PyTypeObject *type = watch->type;
    PyHeapTypeObject *heap = (PyHeapTypeObject *)type;

    return type->tp_dict != watch->dict || type->tp_mro != watch->mro || type->tp_bases != watch->bases ||
           Py_TYPE(type) != watch->metatype || heap->ht_name != watch->name || heap->ht_qualname != watch->qualname;
}

/* What the audit hook hears of, too: a bit for each place that differs. */
static uint64_t
heard_differs(void)
{
    uint64_t found = 0;
    size_t i;

    for (i = 0; i < types_count; i++) {
        found |= (uint64_t)type_differs(&types[i]) << types[i].place;
    }
    for (i = 0; i < bare_count; i++) {
        found |= (uint64_t)(Py_TYPE(bare[i].object) != bare[i].type) << bare[i].place;
    }
    return found;
}

uint64_t
classes_differ(int heard)
{
    uint64_t found = heard ? heard_differs() : 0;
#if !HAS_TAGS
    size_t i;

    for (i = 0; i < types_count; i++) {
        found |= (uint64_t)(flags_of(types[i].type) != types[i].flags) << types[i].place;
    }
#endif
    return found;
}

/* Nothing but the harness has run since the zygote took the snapshot, and it assigns to no class: what only the audit hook
 * hears of is as it was, and need not be looked at in each worker. */
void
classes_arm(void)
{
#if !HAS_TAGS
    size_t i;

    for (i = 0; i < types_count; i++) {
        types[i].flags = flags_of(types[i].type);
    }
#endif
}
