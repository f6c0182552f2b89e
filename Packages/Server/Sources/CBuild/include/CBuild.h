#ifndef HEADGATE_CBUILD_H
#define HEADGATE_CBUILD_H

// Not imported by Swift: `__DATE__` is a macro. If SOURCE_DATE_EPOCH is set, the compiler takes the day from it.

/// The day on which the program was compiled, in the compiler's time zone, like "Nov 26 2026".
const char *cbuild_date(void);

#endif
