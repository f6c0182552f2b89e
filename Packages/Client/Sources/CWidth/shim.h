// The C library has this one, but shows it only to those who ask for X/Open's functions before its first header.

#include <wchar.h>

/// How many columns of a terminal a character takes; -1 for one that cannot be shown.
int wcwidth(wchar_t character);
