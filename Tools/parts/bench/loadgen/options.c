#include "options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"

static const char usage[] =
    "usage: loadgen --proto headgate|redis --socket PATH [--connections N] [--window N] [--seconds S]\n"
    "               [--warmup S] [--size BYTES] [--ids] [--noise] [--events N]\n"
    "\n"
    "Keeps --window unanswered requests on each of --connections connections to a Unix socket, checks every\n"
    "answer and their order, and prints one line of figures:\n"
    "\n"
    "  requests  acknowledged in the measured time      p50_us p99_us max_us  from write to acknowledgement\n"
    "  seconds   measured                               cpu    of one core, what the generator itself used\n"
    "  rate      requests a second                      total  acknowledged with warm-up and ending\n";

_Noreturn static void refuse(const char *option, const char *value) {
    fprintf(stderr, "loadgen: %s: not valid: %s\n%s", option, value, usage);
    exit(2);
}

static unsigned long whole_number(const char *option, const char *value, unsigned long limit) {
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || number == 0 || number > limit) refuse(option, value);
    return number;
}

static double duration(const char *option, const char *value, double least) {
    char *end;
    double seconds = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(seconds) || seconds < least || seconds > 86400) refuse(option, value);
    return seconds;
}

static void apply(struct options *options, int choice, const char *value) {
    switch (choice) {
    case 'p':
        options->protocol = protocol_named(value);
        if (!options->protocol) refuse("--proto", value);
        break;
    case 's': options->socket_path = value; break;
    case 'c': options->connections = (unsigned)whole_number("--connections", value, 8192); break;
    case 'w': options->window = (unsigned)whole_number("--window", value, 65536); break;
    case 'b': options->size = whole_number("--size", value, REQUEST_LIMIT); break;
    case 't': options->seconds = duration("--seconds", value, 0.01); break;
    case 'u': options->warmup_seconds = duration("--warmup", value, 0); break;
    case 'i': options->ids = true; break;
    case 'n': options->noise = true; break;
    case 'e': options->events = (unsigned)whole_number("--events", value, EVENTS_LIMIT); break;
    case 'h': fputs(usage, stdout); exit(0);
    default: fputs(usage, stderr); exit(2);
    }
}

struct options options_read(int count, char **arguments) {
    static const struct option known[] = {
        {"proto", required_argument, NULL, 'p'},   {"socket", required_argument, NULL, 's'},
        {"connections", required_argument, NULL, 'c'}, {"window", required_argument, NULL, 'w'},
        {"seconds", required_argument, NULL, 't'}, {"warmup", required_argument, NULL, 'u'},
        {"size", required_argument, NULL, 'b'},    {"ids", no_argument, NULL, 'i'},
        {"events", required_argument, NULL, 'e'},  {"noise", no_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    struct options options = {.connections = 4, .window = 64, .size = 300, .events = 1, .warmup_seconds = 0.3, .seconds = 2};
    for (int choice; (choice = getopt_long(count, arguments, "", known, NULL)) != -1;) apply(&options, choice, optarg);
    if (optind < count) refuse("argument", arguments[optind]);
    if (!options.protocol) refuse("--proto", "missing");
    if (!options.socket_path) refuse("--socket", "missing");
    return options;
}
