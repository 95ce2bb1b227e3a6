// A C interface over the system's simdjson: one pass that checks the whole document and leaves a tape.
//
// simdjson's first stage finds the structural characters and checks UTF-8, quotes and control characters. The
// second stage here differs from simdjson's own: it keeps every number as its token instead of a 64-bit value
// (so 2^64, 1e400 and 1.10 stay exact), and it checks every token, used or not, against RFC 8259.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CSJ_OBJECT = 0,
  CSJ_ARRAY = 1,
  CSJ_STRING = 2,
  CSJ_INTEGER = 3,  // a number without fraction and exponent
  CSJ_DECIMAL = 4,  // any other number
  CSJ_TRUE = 5,
  CSJ_FALSE = 6,
  CSJ_NULL = 7,
};

enum {
  CSJ_HAS_ESCAPE = 1,      // the string holds a backslash
  CSJ_LONE_SURROGATE = 2,  // an escaped surrogate without its partner: legal JSON, but no text
};

// A node of the tape, in document order. An object's members are pairs of nodes: the key (a string), the value.
typedef struct csj_node {
  uint32_t offset;  // of the first byte; for a string, of the byte behind the opening quote
  uint32_t length;  // in bytes; for a string, without the quotes
  uint32_t next;    // index of the node behind this one and all it contains
  uint8_t kind;
  uint8_t flags;
  uint16_t unused;
} csj_node;

typedef enum csj_error {
  CSJ_OK = 0,
  CSJ_EMPTY,
  CSJ_TRUNCATED,
  CSJ_BAD_UTF8,
  CSJ_BAD_STRING,  // a control character in a string
  CSJ_BAD_ESCAPE,
  CSJ_BAD_NUMBER,
  CSJ_BAD_TOKEN,
  CSJ_UNEXPECTED,  // a legal token where none of its kind may stand
  CSJ_TRAILING,    // something behind the end of the document
  CSJ_TOO_DEEP,    // more than 1,024 levels
  CSJ_TOO_LARGE,   // 4 GB or more
  CSJ_MEMORY,
} csj_error;

typedef struct csj_parser csj_parser;

csj_parser *csj_parser_create(void);
void csj_parser_destroy(csj_parser *parser);

// Parses `length` bytes. On CSJ_OK *nodes is a tape to be released with csj_free, *count its length; otherwise
// *error_offset is where the fault is, as far as known.
csj_error csj_parse(csj_parser *parser, const uint8_t *bytes, size_t length, csj_node **nodes, size_t *count,
                    size_t *error_offset);
void csj_free(csj_node *nodes);

// The double nearest to a JSON number token. 0 where it is out of range (1e400, 1e-400), else 1.
int csj_double(const uint8_t *token, size_t length, double *value);

// Copies legal JSON without its insignificant white space; `into` holds at least `length` bytes.
size_t csj_minify(const uint8_t *bytes, size_t length, uint8_t *into);

#ifdef __cplusplus
}
#endif
