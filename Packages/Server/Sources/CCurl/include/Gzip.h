#ifndef HEADGATE_GZIP_H
#define HEADGATE_GZIP_H

#include <stddef.h>

/// The most bytes that so many can take when they are compressed.
size_t cgzip_bound(size_t count);

/// Compresses `count` bytes to the gzip format. Gives how many bytes it wrote to `output`; 0 when there was no memory or
/// no room.
size_t cgzip_compress(const void *bytes, size_t count, void *output, size_t room);

/// Decompresses the beginning of a gzip or zlib stream, or of a raw deflate stream if `raw` is not 0. The stream may be cut
/// short. Gives how many bytes it wrote to `output`, which is `room` at the most; 0 when it is no such stream.
size_t cgzip_decompress(const void *bytes, size_t count, void *output, size_t room, int raw);

#endif
