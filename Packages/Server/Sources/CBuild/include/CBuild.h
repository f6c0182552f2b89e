#ifndef HEADGATE_CBUILD_H
#define HEADGATE_CBUILD_H

// Hidden from Swift: a macro of the compiler. With SOURCE_DATE_EPOCH the compiler takes the day from there.

/// The day on which the program was compiled, in the compiler's time zone, like "Nov 26 2026".
const char *cbuild_date(void);

#endif
