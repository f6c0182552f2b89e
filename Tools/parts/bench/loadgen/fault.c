#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fault(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("loadgen: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}
