// The C library declares this function only if X/Open functions are requested before its first header.

#include <wchar.h>

/// Returns the columns that a character takes on a terminal, or -1 if it cannot be shown.
int wcwidth(wchar_t character);
