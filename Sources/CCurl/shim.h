#pragma once
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot call: one wrapper per argument type.
static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(handle, option, value);
}
typedef size_t (*ccurl_write)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode ccurl_set_write(CURL *handle, CURLoption option, ccurl_write callback) {
  return curl_easy_setopt(handle, option, callback);
}
static inline CURLcode ccurl_set_prerequest(CURL *handle, curl_prereq_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}
static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLcode ccurl_get_certificates(CURL *handle, struct curl_certinfo **value) {
  return curl_easy_getinfo(handle, CURLINFO_CERTINFO, value);
}
static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

// Leaves a lookup of the host's name that is under way behind when the handle goes, in place of waiting for it: a silent
// DNS server would hold up all transfers, and outlast every limit. libcurl 7.87 and later.
static inline void ccurl_leave_lookups(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)handle;
#endif
}

// Gives a host in IDNA's form; libcurl 7.88 and later.
#ifdef CURLU_PUNYCODE
static const int ccurl_punycode = CURLU_PUNYCODE;
#else
static const int ccurl_punycode = 0;
#endif

// Refuses to connect to addresses that are not public: loopback, private, link-local, unique local, multicast and
// unspecified ones, also as IPv4 in IPv6 (RFC 6890).
static inline int ccurl_is_public(const struct sockaddr *address) {
  if (address->sa_family == AF_INET) {
    uint32_t ip = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
    uint8_t a = ip >> 24, b = (ip >> 16) & 255, c = (ip >> 8) & 255;
    return !(a == 0 || a == 10 || a == 127 || (a == 100 && b >= 64 && b < 128) || (a == 169 && b == 254) ||
             (a == 172 && b >= 16 && b < 32) || (a == 192 && b == 168) || (a == 198 && (b == 18 || b == 19)) ||
             (a == 192 && b == 0 && (c == 0 || c == 2)) || a >= 224);
  }
  if (address->sa_family == AF_INET6) {
    const struct in6_addr *ip = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(ip) || IN6_IS_ADDR_V4COMPAT(ip)) {
      struct sockaddr_in inner = {.sin_family = AF_INET};
      memcpy(&inner.sin_addr, &ip->s6_addr[12], 4);
      return ccurl_is_public((const struct sockaddr *)&inner);
    }
    // Global unicast alone, so not the translation prefix of RFC 6052; nor what wraps IPv4: 6to4 and Teredo.
    const uint8_t *byte = ip->s6_addr;
    int wraps = byte[0] == 0x20 && (byte[1] == 2 || (byte[1] == 1 && byte[2] == 0 && byte[3] == 0));
    return (byte[0] & 0xE0) == 0x20 && !wraps;
  }
  return 0;
}

// The same of an address as text, as libcurl gives it to a pre-request callback; what cannot be read is not public.
static inline int ccurl_is_public_text(const char *text) {
  struct sockaddr_in four = {.sin_family = AF_INET};
  if (inet_pton(AF_INET, text, &four.sin_addr) == 1) return ccurl_is_public((const struct sockaddr *)&four);
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1) return ccurl_is_public((const struct sockaddr *)&six);
  return 0;
}

// Whether a host may be public as far as its text tells: a name may, an address in any of inet_aton's spellings is one.
static inline int ccurl_may_be_public(const char *host) {
  struct sockaddr_in four = {.sin_family = AF_INET};
  if (inet_aton(host, &four.sin_addr)) return ccurl_is_public((const struct sockaddr *)&four);
  return strchr(host, ':') ? ccurl_is_public_text(host) : 1;
}

// Says in *refused that an address was not public.
static inline curl_socket_t ccurl_open_public(void *refused, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  if (!ccurl_is_public(&address->addr)) {
    *(int *)refused = 1;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode ccurl_connect_to_public_only(CURL *handle, int *refused) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, refused);
  return code ? code : curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, ccurl_open_public);
}

// The message's result sits in a union of the struct.
static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }
