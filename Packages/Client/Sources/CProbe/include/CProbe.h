#pragma once

#include <stdint.h>
#include <sys/types.h>

/// Returns the process that listens on a Unix socket, or -1 if none does.
pid_t hg_probe_listener(const char *path);

/// Returns 1 if a service keeps the wall clock right, 0 if not, and -1 if the kernel does not say.
int hg_probe_clock(void);

/// A file system.
struct hg_probe_disk {
    int64_t free_bytes, total_bytes;
    /// The number of files that can still be created, or the largest number if there is no limit.
    int64_t free_files;
    /// The number of the file system's kind in `statfs`.
    int64_t kind;
    int is_read_only;
};

/// Finds the file system of a directory. Returns 0 if there is no such directory.
int hg_probe_find_disk(const char *directory, struct hg_probe_disk *disk);

/// A destination to test. Missing parts are NULL.
struct hg_probe {
    const char *url;
    const char *unix_socket;
    const char *ca_file, *cert_file, *key_file;
    /// The body to send, or NULL to only connect, with TLS if the URL asks for it, and to close the connection.
    const char *body, *content_type;
    long timeout_ms;
};

/// The outcome of a test.
struct hg_probe_outcome {
    enum { HG_PROBE_REACHED, HG_PROBE_FAILED, HG_PROBE_NO_LIBRARY } kind;
    /// The status of the answer to the body, or 0 without an answer.
    long status;
    /// The reason why the destination was not reached, as a text for people.
    char message[256];
};

/// Tests a destination with the machine's libcurl. The library is loaded only for this call, so that other commands do
/// not load it.
struct hg_probe_outcome hg_probe_run(const struct hg_probe *probe);
