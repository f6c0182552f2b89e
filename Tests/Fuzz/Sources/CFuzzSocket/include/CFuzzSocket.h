#pragma once

#include <stddef.h>
#include <stdint.h>

/// Carries a transfer of libcurl's out against a server in this process, which sends some bytes as soon as it is connected
/// to, and then nothing more.
/// \param easy a `CURL *`, ready but for the connection.
/// \return libcurl's word for what came of it, a `CURLcode`; -1 where there is no socket to be had.
int fuzz_socket_perform(void *easy, const uint8_t *bytes, size_t count);
