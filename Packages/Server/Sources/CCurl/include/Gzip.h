#ifndef HEADGATE_GZIP_H
#define HEADGATE_GZIP_H

#include <stddef.h>

/// Returns the most bytes that this many bytes can take when they are compressed.
size_t cgzip_bound(size_t count);

/// Compresses `count` bytes to the gzip format. Returns the number of bytes written to `output`, or 0 if there was no
/// memory or no room.
size_t cgzip_compress(const void *bytes, size_t count, void *output, size_t room);

/// Decompresses the beginning of a gzip or zlib stream, or of a raw deflate stream if `raw` is not 0. The stream may be
/// cut short. Returns the number of bytes written to `output`, at most `room`, or 0 if the stream has another format.
size_t cgzip_decompress(const void *bytes, size_t count, void *output, size_t room, int raw);

#endif
