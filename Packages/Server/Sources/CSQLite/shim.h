#include <sqlite3.h>

/// Keeps the write-ahead log when the last connection closes. (Swift cannot call C functions with variable arguments.)
static inline int headgate_no_checkpoint_on_close(sqlite3 *database, int *is_set) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, is_set);
}
