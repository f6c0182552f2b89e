#pragma once

/// Writes a new UUIDv7 as clients create them (36 characters without a NUL).
void uuid_write(char *out);
