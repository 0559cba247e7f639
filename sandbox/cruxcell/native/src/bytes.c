/* Bytes that grow, for what the native helper says. Plain C memory: no Python object is made. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

void
bytes_begin(struct bytes *bytes)
{
    bytes->data = bytes->small;
    bytes->size = 0;
    bytes->room = sizeof bytes->small;
}

void
bytes_end(struct bytes *bytes)
{
    if (bytes->data != bytes->small) {
        free(bytes->data);
    }
}

char *
bytes_claim(struct bytes *bytes, size_t more)
{
    char *at;

    if (more > bytes->room - bytes->size) {
        size_t room = (bytes->size + more) * 2;
        char *data = bytes->data == bytes->small ? malloc(room) : realloc(bytes->data, room);
        if (data == NULL) {
            return NULL;
        }
        if (bytes->data == bytes->small) {
            memcpy(data, bytes->small, bytes->size);
        }
        bytes->data = data;
        bytes->room = room;
    }
    at = bytes->data + bytes->size;
    bytes->size += more;
    return at;
}

int
bytes_put(struct bytes *bytes, const void *data, size_t size)
{
    char *at = bytes_claim(bytes, size);

    if (at == NULL) {
        return -1;
    }
    memcpy(at, data, size);
    return 0;
}

int
bytes_put_number(struct bytes *bytes, char opening, long long number, char closing)
{
    char text[24];
    size_t at = sizeof text;
    unsigned long long rest = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;

    text[--at] = closing;
    do {
        text[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        text[--at] = '-';
    }
    text[--at] = opening;
    return bytes_put(bytes, text + at, sizeof text - at);
}

static char *
put_character(char *at, Py_UCS4 c)
{
    if (c < 0x80) {
        *at++ = (char)c;
        return at;
    }
    if (c < 0x800) {
        *at++ = (char)(0xC0 | c >> 6);
    }
    else {
        if (c < 0x10000) {
            *at++ = (char)(0xE0 | c >> 12);
        }
        else {
            *at++ = (char)(0xF0 | c >> 18);
            *at++ = (char)(0x80 | (c >> 12 & 0x3F));
        }
        *at++ = (char)(0x80 | (c >> 6 & 0x3F));
    }
    *at++ = (char)(0x80 | (c & 0x3F));
    return at;
}

size_t
bytes_utf8_size(PyObject *text, Py_ssize_t count)
{
    size_t size = 0;
    Py_ssize_t i;

    if (PyUnicode_IS_ASCII(text)) {
        return (size_t)count;
    }
    for (i = 0; i < count; i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(text, i);
        size += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    }
    return size;
}

int
bytes_put_utf8(struct bytes *bytes, PyObject *text, Py_ssize_t count, size_t size)
{
    char *at;
    Py_ssize_t i;

    if (PyUnicode_IS_ASCII(text)) {
        return bytes_put(bytes, PyUnicode_DATA(text), size);
    }
    at = bytes_claim(bytes, size);
    if (at == NULL) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        at = put_character(at, PyUnicode_READ_CHAR(text, i));
    }
    return 0;
}
