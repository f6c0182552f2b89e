#include "CBuild.h"

const char *cbuild_date(void) {
    return __DATE__;
}
