/* Hashes of what the seal between checks compares: dicts by the addresses of what is in them, memory by its bytes. */
#include "watch.h"

#include <string.h>

uint64_t
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

uint64_t
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
