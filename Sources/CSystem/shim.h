#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/timex.h>
#endif

// What Swift does not see of the C library: names behind _GNU_SOURCE, variadic functions and the macros of control messages.

// A file without a name that child processes do not inherit: in memory, where the system has such (memfd_create(2)).
// -1 with errno set where there is none.
static inline int csystem_unnamed_file(void) {
#ifdef __linux__
  return (int)syscall(SYS_memfd_create, "syncd", 3u);  // MFD_CLOEXEC | MFD_ALLOW_SEALING
#else
  char path[] = "/tmp/syncd.XXXXXX";
  int file = mkstemp(path);
  if (file >= 0) {
    unlink(path);
    fcntl(file, F_SETFD, FD_CLOEXEC);
  }
  return file;
#endif
}

// Whether nobody can change a file of csystem_unnamed_file from now on (fcntl(2), F_ADD_SEALS).
static inline int csystem_seal(int file) {
#ifdef __linux__
  return fcntl(file, 1033, 0xF) == 0;  // F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE
#else
  (void)file;
  return 0;
#endif
}

// Sends an open file as a datagram of no bytes (unix(7), SCM_RIGHTS).
static inline ssize_t csystem_send_file(
    int socket, int file, const struct sockaddr *address, socklen_t length, int flags) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_name = (void *)address;
  message.msg_namelen = length;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &file, sizeof file);
  return sendmsg(socket, &message, flags);
}

// Whether somebody keeps the system's clock right (adjtimex(2), STA_UNSYNC): 1, 0, or -1 where that is not known.
static inline int csystem_clock_is_synchronised(void) {
#ifdef __linux__
  struct timex state = {0};
  return adjtimex(&state) < 0 ? -1 : !(state.status & STA_UNSYNC);
#else
  return -1;
#endif
}
