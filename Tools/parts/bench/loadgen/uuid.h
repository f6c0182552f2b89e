#pragma once

/// Writes a new UUIDv7 (36 characters, no end mark): time-ordered, as a client makes them.
void uuid_write(char *out);
