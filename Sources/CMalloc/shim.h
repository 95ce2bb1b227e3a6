#pragma once
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// One heap for all threads of the program. By itself glibc makes one for each, and what is free in one is of no use to the
// others (mallopt(3)).
static inline void cmalloc_use_one_heap(void) {
#if defined(__GLIBC__) && defined(M_ARENA_MAX)
  mallopt(M_ARENA_MAX, 1);
#endif
}
