#pragma once

#include <stdint.h>
#include <sys/types.h>

/// The process that listens at a Unix socket; -1 where nobody does.
pid_t hg_probe_listener(const char *path);

/// Whether something keeps the wall clock right: 1 or 0, or -1 where the kernel does not tell.
int hg_probe_clock(void);

/// A file system.
struct hg_probe_disk {
    int64_t free_bytes, total_bytes;
    /// Files that can still be made; the most that can be said where there is no bound.
    int64_t free_files;
    /// The number of its kind, as `statfs` has it.
    int64_t kind;
    int is_read_only;
};

/// The file system with a directory; 0 where there is none.
int hg_probe_find_disk(const char *directory, struct hg_probe_disk *disk);

/// A destination that is to be tried. What is not there is NULL.
struct hg_probe {
    const char *url;
    const char *unix_socket;
    const char *ca_file, *cert_file, *key_file;
    /// What is sent; without it nothing is: the connection is made, with TLS where the URL asks for that, and closed.
    const char *body, *content_type;
    long timeout_ms;
};

/// What came of it.
struct hg_probe_outcome {
    enum { HG_PROBE_REACHED, HG_PROBE_FAILED, HG_PROBE_NO_LIBRARY } kind;
    /// What it answered to what was sent; 0 without an answer.
    long status;
    /// Why it was not reached, in words.
    char message[256];
};

/// Tries a destination, with the libcurl that is on the machine. It is loaded for this alone: who tracks an event does not
/// wait for that.
struct hg_probe_outcome hg_probe_run(const struct hg_probe *probe);
