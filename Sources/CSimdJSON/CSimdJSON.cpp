#include "CSimdJSON.h"

#include <simdjson.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

using simdjson::error_code;

static const size_t max_depth = 1024;

struct csj_parser {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
  uint32_t open[max_depth];
};

namespace {

bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

int hex(uint8_t c) {
  if (is_digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int code_unit(const uint8_t *p, const uint8_t *end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; i++) {
    int digit = hex(p[i]);
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

// Checks the escapes of a string (RFC 8259 §7); adds CSJ_LONE_SURROGATE where a surrogate stands alone.
bool check_escapes(const uint8_t *p, const uint8_t *end, uint8_t &flags) {
  while ((p = static_cast<const uint8_t *>(memchr(p, '\\', size_t(end - p))))) {
    if (++p == end) return false;
    switch (*p++) {
      case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        break;
      case 'u': {
        int unit = code_unit(p, end);
        if (unit < 0) return false;
        p += 4;
        if (unit >= 0xDC00 && unit <= 0xDFFF) {
          flags |= CSJ_LONE_SURROGATE;
        } else if (unit >= 0xD800 && unit <= 0xDBFF) {
          int low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? code_unit(p + 2, end) : -1;
          if (low >= 0xDC00 && low <= 0xDFFF) p += 6;
          else flags |= CSJ_LONE_SURROGATE;
        }
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

// The kind of a number token (RFC 8259 §6), or -1.
int number_kind(const uint8_t *p, const uint8_t *end) {
  if (p < end && *p == '-') p++;
  if (p == end) return -1;
  if (*p == '0') p++;
  else if (*p >= '1' && *p <= '9') while (p < end && is_digit(*p)) p++;
  else return -1;
  if (p == end) return CSJ_INTEGER;
  if (*p == '.') {
    if (++p == end || !is_digit(*p)) return -1;
    while (p < end && is_digit(*p)) p++;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    if (++p < end && (*p == '+' || *p == '-')) p++;
    if (p == end || !is_digit(*p)) return -1;
    while (p < end && is_digit(*p)) p++;
  }
  return p == end ? CSJ_DECIMAL : -1;
}

}  // namespace

csj_parser *csj_parser_create(void) { return new (std::nothrow) csj_parser(); }
void csj_parser_destroy(csj_parser *parser) { delete parser; }
void csj_free(csj_node *nodes) { free(nodes); }

csj_error csj_parse(csj_parser *parser, const uint8_t *bytes, size_t length, csj_node **nodes, size_t *count,
                    size_t *error_offset) {
  *nodes = nullptr;
  *count = 0;
  *error_offset = 0;
  if (length >= 0xFFFFFFFFu) return CSJ_TOO_LARGE;
  if (length == 0) return CSJ_EMPTY;

  error_code code = simdjson::SUCCESS;
  if (!parser->stage)
    code = simdjson::get_active_implementation()->create_dom_parser_implementation(length, max_depth, parser->stage);
  else if (parser->stage->capacity() < length)
    code = parser->stage->set_capacity(length);
  if (code) return CSJ_MEMORY;

  code = parser->stage->stage1(bytes, length, simdjson::stage1_mode::regular);
  switch (code) {
    case simdjson::SUCCESS: break;
    case simdjson::EMPTY: return CSJ_EMPTY;
    case simdjson::UTF8_ERROR: return CSJ_BAD_UTF8;
    case simdjson::UNESCAPED_CHARS: return CSJ_BAD_STRING;
    case simdjson::UNCLOSED_STRING: *error_offset = length; return CSJ_TRUNCATED;
    case simdjson::CAPACITY: return CSJ_TOO_LARGE;
    case simdjson::MEMALLOC: return CSJ_MEMORY;
    default: return CSJ_UNEXPECTED;
  }

  const uint32_t *index = parser->stage->structural_indexes.get();
  const size_t n = parser->stage->n_structural_indexes;
  // A value or key takes one structural position, and all but the last are followed by another one: `,`, `:` or
  // a closing bracket. An opening bracket is the exception, so n nodes always suffice.
  csj_node *tape = static_cast<csj_node *>(malloc((n + 1) * sizeof(csj_node)));
  if (!tape) return CSJ_MEMORY;

  size_t used = 0, i = 0, depth = 0;
  uint32_t *open = parser->open;
  csj_error error = CSJ_OK;
  size_t at = length;

  // The end of the token whose structural position is the one before `i`: white space is all that may follow it.
  auto token_end = [&]() {
    size_t end = i < n ? index[i] : length;
    while (is_space(bytes[end - 1])) end--;
    return end;
  };
  auto find_escape = [&](const uint8_t *from) {
    const void *found = memchr(from, '\\', size_t(bytes + length - from));
    return found ? static_cast<const uint8_t *>(found) : bytes + length;
  };
  const uint8_t *escape = find_escape(bytes);
  auto add_string = [&](size_t start) {
    size_t end = token_end();
    csj_node &node = tape[used];
    node.kind = CSJ_STRING;
    node.flags = 0;
    node.offset = uint32_t(start + 1);
    node.length = uint32_t(end - start - 2);
    node.next = uint32_t(++used);
    const uint8_t *first = bytes + start + 1, *last = bytes + end - 1;
    // Strings come in their order, so that one search of the whole body finds the escapes of all.
    if (escape < first) escape = find_escape(first);
    if (escape < last) {
      node.flags = CSJ_HAS_ESCAPE;
      if (!check_escapes(first, last, node.flags)) return false;
    }
    return true;
  };

value:
  if (i == n) { error = CSJ_TRUNCATED; goto failed; }
  at = index[i++];
  switch (bytes[at]) {
    case '{': case '[': {
      if (depth == max_depth) { error = CSJ_TOO_DEEP; goto failed; }
      bool object = bytes[at] == '{';
      csj_node &node = tape[used];
      node.kind = object ? CSJ_OBJECT : CSJ_ARRAY;
      node.flags = 0;
      node.offset = uint32_t(at);
      open[depth++] = uint32_t(used++);
      if (i < n && bytes[index[i]] == (object ? '}' : ']')) goto close;
      if (object) goto key;
      goto value;
    }
    case '"':
      if (!add_string(at)) { error = CSJ_BAD_ESCAPE; goto failed; }
      goto after;
    default: {
      size_t end = token_end(), size = end - at;
      const uint8_t *token = bytes + at;
      csj_node &node = tape[used];
      node.flags = 0;
      node.offset = uint32_t(at);
      node.length = uint32_t(size);
      node.next = uint32_t(++used);
      if (size == 4 && memcmp(token, "true", 4) == 0) node.kind = CSJ_TRUE;
      else if (size == 5 && memcmp(token, "false", 5) == 0) node.kind = CSJ_FALSE;
      else if (size == 4 && memcmp(token, "null", 4) == 0) node.kind = CSJ_NULL;
      else if (*token == '-' || is_digit(*token)) {
        int kind = number_kind(token, token + size);
        if (kind < 0) { error = CSJ_BAD_NUMBER; goto failed; }
        node.kind = uint8_t(kind);
      } else {
        uint8_t c = *token;
        error = c == ',' || c == ':' || c == '}' || c == ']' ? CSJ_UNEXPECTED : CSJ_BAD_TOKEN;
        goto failed;
      }
      goto after;
    }
  }

key:
  if (i == n) { error = CSJ_TRUNCATED; at = length; goto failed; }
  at = index[i++];
  if (bytes[at] != '"') { error = CSJ_UNEXPECTED; goto failed; }
  if (!add_string(at)) { error = CSJ_BAD_ESCAPE; goto failed; }
  if (i == n) { error = CSJ_TRUNCATED; at = length; goto failed; }
  at = index[i++];
  if (bytes[at] != ':') { error = CSJ_UNEXPECTED; goto failed; }
  goto value;

close: {
    csj_node &node = tape[open[--depth]];
    node.length = index[i++] + 1 - node.offset;
    node.next = uint32_t(used);
  }

after:
  if (depth == 0) {
    if (i != n) { error = CSJ_TRAILING; at = index[i]; goto failed; }
    *nodes = tape;
    *count = used;
    return CSJ_OK;
  }
  if (i == n) { error = CSJ_TRUNCATED; at = length; goto failed; }
  {
    bool object = tape[open[depth - 1]].kind == CSJ_OBJECT;
    uint8_t c = bytes[index[i]];
    if (c == ',') {
      i++;
      if (object) goto key;
      goto value;
    }
    if (c == (object ? '}' : ']')) goto close;
    error = CSJ_UNEXPECTED;
    at = index[i];
  }

failed:
  free(tape);
  *error_offset = at;
  return error;
}

int csj_double(const uint8_t *token, size_t length, double *value) {
  const char *first = reinterpret_cast<const char *>(token);
  auto result = std::from_chars(first, first + length, *value);
  return result.ec == std::errc() && result.ptr == first + length;
}

size_t csj_minify(const uint8_t *bytes, size_t length, uint8_t *into) {
  size_t size = 0;
  return simdjson::get_active_implementation()->minify(bytes, length, into, size) ? 0 : size;
}
