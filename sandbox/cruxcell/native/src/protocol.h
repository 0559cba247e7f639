/* Written by `make header` from cruxcell/protocol: change that. Everything is little-endian. */
#ifndef CRUXCELL_PROTOCOL_H
#define CRUXCELL_PROTOCOL_H

#define REPORT_DESCRIPTOR 3 /* of a worker */
#define PROGRESS_DESCRIPTOR 4
#define MOST_DESCRIPTORS 32 /* that it may have open */
#define MAX_FIELDS 1048576 /* of a frame */
#define TOKEN_BYTES 8 /* of a seal */
#define KIND_AT 8 /* in a record: its letter */
#define INDEX_AT 13 /* in an answer: the number of its check */
#define NUMBERS_SIZE 29 /* the numbers of an answer, and where each of them is */
#define INDEX_IN_NUMBERS 0
#define STEPS_IN_NUMBERS 4
#define CPU_NS_IN_NUMBERS 12
#define WALL_NS_IN_NUMBERS 20
#define FLAGS_IN_NUMBERS 28

/* The letters of records. */
enum {
    RECORD_VALUE = 'V',
    RECORD_RAISED = 'E',
    RECORD_ENDED = 'D',
    RECORD_SEAL = 'K',
    RECORD_UNSEALED = 'U',
    RECORD_VIOLATED = 'Y',
    RECORD_OUTPUT_LIMIT = 'O',
};

/* How a value is encoded. */
enum {
    ENCODED_PLAIN = 'p',
    ENCODED_HOLDS_NAN = 'n',
};

/* With which status a worker ends itself. */
enum {
    EXIT_STEPS = 61,
    EXIT_OUTPUT = 62,
    EXIT_HARNESS = 63,
    EXIT_VIOLATION = 64,
    EXIT_UNSEALED = 65,
};

/* The places of what a seal compares. */
enum {
    PLACE_REPORT = 0,
    PLACE_BUILTINS = 1,
    PLACE_HARNESS = 2,
    PLACE_MODULE_TABLE = 3,
    PLACE_MODULE = 4,
    PLACE_SYS = 5,
    PLACE_TYPE = 6,
    PLACE_CODECS = 7,
    PLACE_LIMITS = 8,
    PLACE_HOOKS = 9,
    PLACE_GC = 10,
    PLACE_WARNINGS = 11,
    PLACE_SIGNALS = 12,
    PLACE_LOCALE = 13,
    PLACE_CONTEXT = 14,
    PLACE_RANDOM = 15,
    PLACE_ENVIRONMENT = 16,
    PLACE_DESCRIPTORS = 17,
    PLACE_THREADS = 18,
    PLACE_FRAMES = 19,
    PLACE_AUDIT = 20,
};

#endif
