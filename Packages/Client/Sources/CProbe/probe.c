#include "CProbe.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// The parts of libcurl's interface that are used here. These numbers and types belong to its stable ABI.
enum {
    OPTION_POSTFIELDSIZE = 60, OPTION_NOSIGNAL = 99, OPTION_CONNECT_ONLY = 141, OPTION_TIMEOUT_MS = 155,
    OPTION_WRITEDATA = 10001, OPTION_URL = 10002, OPTION_ERRORBUFFER = 10010, OPTION_POSTFIELDS = 10015,
    OPTION_HTTPHEADER = 10023, OPTION_SSLCERT = 10025, OPTION_CAINFO = 10065, OPTION_SSLKEY = 10087,
    OPTION_UNIX_SOCKET_PATH = 10231, OPTION_WRITEFUNCTION = 20011,
    INFO_RESPONSE_CODE = 0x200002,
    ERROR_ROOM = 256,
};

struct library {
    void *(*init)(void);
    int (*setopt)(void *, int, ...);
    int (*perform)(void *);
    int (*getinfo)(void *, int, ...);
    void (*cleanup)(void *);
    void *(*append)(void *, const char *);
    void (*free_all)(void *);
    const char *(*error)(int);
};

static void *load(void) {
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    return handle ? handle : dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
}

static int find(struct library *library) {
    void *handle = load();
    if (!handle) return 0;
    *(void **)&library->init = dlsym(handle, "curl_easy_init");
    *(void **)&library->setopt = dlsym(handle, "curl_easy_setopt");
    *(void **)&library->perform = dlsym(handle, "curl_easy_perform");
    *(void **)&library->getinfo = dlsym(handle, "curl_easy_getinfo");
    *(void **)&library->cleanup = dlsym(handle, "curl_easy_cleanup");
    *(void **)&library->append = dlsym(handle, "curl_slist_append");
    *(void **)&library->free_all = dlsym(handle, "curl_slist_free_all");
    *(void **)&library->error = dlsym(handle, "curl_easy_strerror");
    return library->init && library->setopt && library->perform && library->getinfo && library->cleanup &&
           library->append && library->free_all && library->error;
}

static size_t swallow(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static void set_text(const struct library *library, void *curl, int option, const char *text) {
    if (text) library->setopt(curl, option, text);
}

static void *set_body(const struct library *library, void *curl, const struct hg_probe *probe) {
    char header[128];
    snprintf(header, sizeof header, "Content-Type: %s", probe->content_type ? probe->content_type : "application/json");
    void *headers = library->append(NULL, header);
    library->setopt(curl, OPTION_HTTPHEADER, headers);
    library->setopt(curl, OPTION_POSTFIELDS, probe->body);
    library->setopt(curl, OPTION_POSTFIELDSIZE, (long)strlen(probe->body));
    library->setopt(curl, OPTION_WRITEFUNCTION, swallow);
    return headers;
}

static void perform(const struct library *library, void *curl, const struct hg_probe *probe,
                    struct hg_probe_outcome *outcome) {
    char why[ERROR_ROOM] = "";
    void *headers = NULL;
    library->setopt(curl, OPTION_ERRORBUFFER, why);
    library->setopt(curl, OPTION_NOSIGNAL, 1L);
    library->setopt(curl, OPTION_TIMEOUT_MS, probe->timeout_ms);
    set_text(library, curl, OPTION_URL, probe->url);
    set_text(library, curl, OPTION_UNIX_SOCKET_PATH, probe->unix_socket);
    set_text(library, curl, OPTION_CAINFO, probe->ca_file);
    set_text(library, curl, OPTION_SSLCERT, probe->cert_file);
    set_text(library, curl, OPTION_SSLKEY, probe->key_file);
    if (probe->body) headers = set_body(library, curl, probe);
    else library->setopt(curl, OPTION_CONNECT_ONLY, 1L);
    const int code = library->perform(curl);
    outcome->kind = code == 0 ? HG_PROBE_REACHED : HG_PROBE_FAILED;
    if (code == 0) library->getinfo(curl, INFO_RESPONSE_CODE, &outcome->status);
    else snprintf(outcome->message, sizeof outcome->message, "%s", why[0] ? why : library->error(code));
    library->setopt(curl, OPTION_ERRORBUFFER, NULL);
    if (headers) library->free_all(headers);
}

struct hg_probe_outcome hg_probe_run(const struct hg_probe *probe) {
    struct hg_probe_outcome outcome = {.kind = HG_PROBE_NO_LIBRARY};
    struct library library;
    if (!find(&library)) return outcome;
    void *curl = library.init();
    if (!curl) return outcome;
    perform(&library, curl, probe, &outcome);
    library.cleanup(curl);
    return outcome;
}
