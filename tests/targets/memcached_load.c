// A load generator for memcached: each connection has a thread that sends one request after another
// (nine `get` for one `set`) and checks the answer. Prints `rounds N`: requests answered.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { kKeys = 10000, kValueBytes = 100, kBuffer = 4096 };

static double port = 11211;
static double connections = 8;
static _Atomic uint64_t wrong_answers;

static NOINLINE void request_done(void) { count_round(); }

static int connect_to_server(void) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, (struct sockaddr*)&address, sizeof(address)) != 0) die("connect");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

static void send_all(int fd, const char* data, size_t length) {
  while (length > 0) {
    const ssize_t part = send(fd, data, length, MSG_NOSIGNAL);
    if (part < 0 && errno != EINTR) die("send");
    if (part > 0) {
      data += part;
      length -= (size_t)part;
    }
  }
}

// Reads until the answer ends with one of the two endings that memcached has for our requests.
static void read_answer(int fd) {
  char buffer[kBuffer];
  size_t length = 0;
  for (;;) {
    const ssize_t part = recv(fd, buffer + length, sizeof(buffer) - length, 0);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) die("recv");
    if (part == 0) {
      fprintf(stderr, "the server closed the connection\n");
      exit(1);
    }
    length += (size_t)part;
    if (length >= 5 && memcmp(buffer + length - 5, "END\r\n", 5) == 0) return;
    if (length >= 8 && memcmp(buffer + length - 8, "STORED\r\n", 8) == 0) return;
    if (length == sizeof(buffer)) {
      atomic_fetch_add(&wrong_answers, 1);
      return;
    }
  }
}

static void* run_connection(void* argument) {
  uint64_t state = 88172645463325252ULL + (uint64_t)(uintptr_t)argument;
  char value[kValueBytes + 1];
  memset(value, 'v', kValueBytes);
  value[kValueBytes] = '\0';
  const int fd = connect_to_server();
  while (!stopping()) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const unsigned key = (unsigned)(state % kKeys);
    char request[256];
    int length = 0;
    if (state / kKeys % 10 == 0) {
      length =
          snprintf(request, sizeof(request), "set key%u 0 0 %d\r\n%s\r\n", key, kValueBytes, value);
    } else {
      length = snprintf(request, sizeof(request), "get key%u\r\n", key);
    }
    send_all(fd, request, (size_t)length);
    read_answer(fd);
    request_done();
  }
  close(fd);
  return NULL;
}

int main(int argc, char** argv) {
  const struct own_option own[] = {
      {"--port", &port, NULL, "port of memcached on the loopback (11211)"},
      {"--connections", &connections, NULL, "connections, a thread each (8)"},
      {NULL, NULL, NULL, NULL}};
  harness_start(argc, argv, "a load of get and set requests for memcached", own);
  const size_t count = (size_t)connections;
  pthread_t* threads = calloc(count, sizeof(*threads));
  if (!threads) die("calloc");
  ready();
  for (size_t i = 0; i < count; i++) {
    if (pthread_create(&threads[i], NULL, run_connection, (void*)(uintptr_t)i) != 0) {
      die("pthread_create");
    }
  }
  wait_for_end();
  for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
  free(threads);
  printf("wrong_answers %llu\n", (unsigned long long)wrong_answers);
  return finish();
}
