#pragma once
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

// MHD_start_daemon is variadic, which Swift cannot call. One thread serves all connections, with epoll where it is there; the
// socket is the daemon's from then on.
static inline struct MHD_Daemon *cmicrohttpd_start(int listener, unsigned int connections, unsigned int idle_seconds,
                                                   size_t connection_memory, MHD_AccessHandlerCallback answer,
                                                   void *context) {
  return MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, answer, context,
                          MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections,
                          MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                          connection_memory, MHD_OPTION_END);
}

// An enumeration in some C libraries, a number in others.
static const int cmicrohttpd_stream = SOCK_STREAM;
