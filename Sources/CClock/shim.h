#pragma once
#ifdef __linux__
#include <sys/timex.h>
#endif

// Whether somebody keeps the system's clock right (adjtimex(2), STA_UNSYNC): 1, 0, or -1 where that is not known.
static inline int cclock_is_synchronised(void) {
#ifdef __linux__
  struct timex state = {0};
  return adjtimex(&state) < 0 ? -1 : !(state.status & STA_UNSYNC);
#else
  return -1;
#endif
}
