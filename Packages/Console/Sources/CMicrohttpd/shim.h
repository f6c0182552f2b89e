#ifndef HEADGATE_CMICROHTTPD_SHIM_H
#define HEADGATE_CMICROHTTPD_SHIM_H

#include <microhttpd.h>

#include <stddef.h>

// Functions and constants that Swift cannot import, because they take variable arguments or are also macros.

static const enum MHD_Result cmicrohttpd_yes = MHD_YES;
static const enum MHD_Result cmicrohttpd_no = MHD_NO;
static const enum MHD_ConnectionNotificationCode cmicrohttpd_opened = MHD_CONNECTION_NOTIFY_STARTED;
static const enum MHD_ValueKind cmicrohttpd_headers = MHD_HEADER_KIND;
static const enum MHD_ResponseMemoryMode cmicrohttpd_copied = MHD_RESPMEM_MUST_COPY;

/// The limits of a server.
struct cmicrohttpd_limits {
    unsigned int connections;
    /// The memory of one connection, for the head of its request and for a piece of its answer.
    size_t bytes_per_connection;
    /// The seconds after which an idle connection is closed.
    unsigned int idle_seconds;
};

/// Starts a server on a listening socket. It has no thread: the caller must call MHD_run.
static inline struct MHD_Daemon *cmicrohttpd_start(int listening, struct cmicrohttpd_limits limits,
                                                   void *(*begin)(void *, const char *, struct MHD_Connection *),
                                                   MHD_AccessHandlerCallback handle,
                                                   MHD_RequestCompletedCallback end,
                                                   MHD_NotifyConnectionCallback connection, void *context) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, context,
        MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, limits.connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.bytes_per_connection, MHD_OPTION_CONNECTION_TIMEOUT,
        limits.idle_seconds, MHD_OPTION_URI_LOG_CALLBACK, begin, context, MHD_OPTION_NOTIFY_COMPLETED, end, context,
        MHD_OPTION_NOTIFY_CONNECTION, connection, context, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

/// Returns the socket of a connection, or -1.
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// Returns the descriptor that is readable when MHD_run has work.
static inline int cmicrohttpd_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

#endif
