#include "Gzip.h"

#include <limits.h>
#include <zlib.h>

// The fastest level, because compression takes processor time from the whole daemon, and JSON shrinks well at any
// level.
static const int level = Z_BEST_SPEED;
// The largest window, plus 16 for the gzip format.
static const int gzip_window = MAX_WBITS + 16;
static const int memory = 8;

// A gzip header and trailer have 12 bytes more than the zlib ones, which compressBound counts.
size_t cgzip_bound(size_t count) {
    return compressBound((uLong)count) + 12;
}

size_t cgzip_compress(const void *bytes, size_t count, void *output, size_t room) {
    z_stream stream = {0};
    if (count > UINT_MAX || room > UINT_MAX) return 0;
    if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = output;
    stream.avail_out = (uInt)room;
    int ended = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    size_t written = room - stream.avail_out;
    deflateEnd(&stream);
    return ended ? written : 0;
}

size_t cgzip_decompress(const void *bytes, size_t count, void *output, size_t room, int raw) {
    z_stream stream = {0};
    // 32 more lets zlib detect the format by the header.
    if (count > UINT_MAX || room > UINT_MAX) return 0;
    if (inflateInit2(&stream, raw ? -MAX_WBITS : MAX_WBITS + 32) != Z_OK) return 0;
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (uInt)count;
    stream.next_out = output;
    stream.avail_out = (uInt)room;
    int code = inflate(&stream, Z_SYNC_FLUSH);
    size_t written = room - stream.avail_out;
    inflateEnd(&stream);
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? written : 0;
}
