#include "CFuzzSocket.h"

#include <curl/curl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct server {
    int connection;
    const uint8_t *bytes;
    size_t count;
};

// Listens at a name chosen by the kernel until the process ends.
static int listener = -1;
static struct sockaddr_un name;
static socklen_t name_size;

static int is_listening(void) {
    if (listener >= 0) return 1;
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) return 0;
    name.sun_family = AF_UNIX;
    name_size = sizeof name;
    if (bind(made, (struct sockaddr *)&name, sizeof name.sun_family) != 0 || listen(made, 8) != 0 ||
        getsockname(made, (struct sockaddr *)&name, &name_size) != 0) {
        close(made);
        return 0;
    }
    listener = made;
    return 1;
}

// Redirects the transfer to that socket, whatever its URL.
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context;
    (void)purpose;
    if (name_size > sizeof address->addr) return CURL_SOCKET_BAD;
    address->family = AF_UNIX;
    address->protocol = 0;
    address->addrlen = name_size;
    memcpy(&address->addr, &name, name_size);
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

// Called when there is a connection, before the request is written.
static int answer(void *context, char *ip, char *local_ip, int port, int local_port) {
    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    struct server *server = context;
    server->connection = accept(listener, NULL, NULL);
    if (server->connection < 0) return CURL_PREREQFUNC_ABORT;
    if (write(server->connection, server->bytes, server->count) < 0) return CURL_PREREQFUNC_ABORT;
    shutdown(server->connection, SHUT_WR);
    return CURL_PREREQFUNC_OK;
}

int fuzz_socket_perform(void *easy, const uint8_t *bytes, size_t count) {
    if (!is_listening()) return -1;
    struct server server = {-1, bytes, count};
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, answer);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQDATA, &server);
    // libcurl caches the connection and facts about its server, which would affect the next transfer.
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    if (code == CURLE_OK) code = curl_easy_perform(easy);
    if (server.connection >= 0) close(server.connection);
    return (int)code;
}
