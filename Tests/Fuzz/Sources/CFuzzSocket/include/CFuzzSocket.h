#pragma once

#include <stddef.h>
#include <stdint.h>

/// Performs a libcurl transfer with a server in this process. The server sends the given bytes as soon as it has a
/// connection, and nothing more.
/// \param easy a `CURL *` that is prepared except for its connection.
/// \return the transfer's result, a `CURLcode`; -1 if no socket can be made.
int fuzz_socket_perform(void *easy, const uint8_t *bytes, size_t count);
