#pragma once
#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

// inflateInit2 is a macro with sizeof in it.
static inline int ccompression_inflate_init(z_stream *stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}
