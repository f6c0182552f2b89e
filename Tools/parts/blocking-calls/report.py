"""Lists the calls of an event loop that can wait for another process, from traces of strace (`-f -y`).

A thread counts as an event loop from its first call of epoll_wait on. Its earlier calls belong to the start of the daemon, when no
client waits yet.
"""
import collections
import re
import sys

CALL = re.compile(r"^(\d+)\s+(\w+)\((.*?)\)\s+= (-?\d+|\?)(.*)$")
UNFINISHED = re.compile(r"^(\d+)\s+(\w+)\((.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$")
DESCRIPTOR = re.compile(r"^(\d+)<([^>]*)>")
RESULT = re.compile(r"^(\d+)<([^>]*)>|^(\d+)")

WRITES = {"write", "writev", "pwrite64", "sendto", "sendmsg", "sendmmsg", "sendfile", "splice"}
READS = {"read", "readv", "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4", "connect"}
MAKERS = {"open", "openat", "socket", "accept", "accept4", "pipe", "pipe2", "eventfd2", "socketpair", "dup", "dup2", "dup3",
          "epoll_create1", "timerfd_create", "memfd_create", "inotify_init1"}


def whole_lines(lines):
    """Joins the parts of calls that other threads' calls interrupted."""
    begun = {}
    for line in lines:
        line = line.rstrip("\n")
        if found := UNFINISHED.match(line):
            begun[found[1], found[2]] = line[: -len(" <unfinished ...>")]
        elif found := RESUMED.match(line):
            if start := begun.pop((found[1], found[2]), None):
                yield start + found[3]
        else:
            yield line


class Trace:
    def __init__(self):
        self.nonblocking = set()
        self.loops = set()
        self.found = collections.Counter()

    def take(self, line):
        call = CALL.match(line)
        if not call:
            return
        thread, name, arguments, result = call[1], call[2], call[3], call[4]
        if name in ("epoll_wait", "epoll_pwait"):
            self.loops.add(thread)
        elif thread in self.loops and (why := self.reason(name, arguments)):
            self.found[why] += 1
        self.note(name, arguments, result)

    def note(self, name, arguments, result):
        """Records which descriptors are non-blocking. All threads share them."""
        if name == "fcntl" and "F_SETFL" in arguments and (number := DESCRIPTOR.match(arguments)):
            (self.nonblocking.add if "O_NONBLOCK" in arguments else self.nonblocking.discard)(int(number[1]))
        elif name in MAKERS and result.isdigit():
            numbers = [int(n) for n in re.findall(r"(\d+)<", arguments)] if name in ("pipe", "pipe2", "socketpair") else [int(result)]
            change = self.nonblocking.add if "NONBLOCK" in arguments else self.nonblocking.discard
            for number in numbers:
                change(number)

    def reason(self, name, arguments):
        number = DESCRIPTOR.match(arguments)
        kind = self.kind(number[2]) if number else None
        if name in WRITES | READS and kind in ("pipe", "socket", "terminal"):
            if int(number[1]) not in self.nonblocking and "MSG_DONTWAIT" not in arguments:
                return f"{name} on a blocking {kind}: {number[2]}"
        if name in ("open", "openat") and "O_NONBLOCK" not in arguments and self.names_pipe(arguments):
            return f"{name} of what may be a pipe: {arguments}"
        if name == "flock" and "LOCK_NB" not in arguments and "LOCK_UN" not in arguments:
            return f"flock that waits: {arguments}"
        if name == "fcntl" and "SETLKW" in arguments:
            return f"lock that waits: {arguments}"
        if name in ("wait4", "waitid") and "WNOHANG" not in arguments:
            return f"{name} that waits: {arguments}"
        if name in ("poll", "ppoll", "select", "pselect6") and self.waits(name, arguments):
            return f"{name} beside the loop: {arguments}"
        if name in ("nanosleep", "clock_nanosleep"):
            return f"{name}: {arguments}"
        return None

    @staticmethod
    def kind(target):
        if target.startswith("pipe:"):
            return "pipe"
        if "socket:" in target or target.startswith(("UNIX", "TCP", "UDP", "NETLINK")):
            return "socket"
        if target.startswith(("/dev/pts", "/dev/tty")):
            return "terminal"
        return None

    @staticmethod
    def names_pipe(arguments):
        return re.search(r"fifo|pipe", arguments) is not None

    @staticmethod
    def waits(name, arguments):
        last = arguments.rsplit(",", 1)[-1].strip()
        if name == "poll":
            return last != "0"
        return "tv_sec=0, tv_nsec=0" not in arguments and "tv_sec=0, tv_usec=0" not in arguments


def main(paths):
    total = collections.Counter()
    for path in paths:
        trace = Trace()
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in whole_lines(lines):
                trace.take(line)
        total.update(trace.found)
    if not paths:
        sys.exit("no traces: did the tests start a daemon?")
    for reason, times in total.most_common():
        print(f"{times:6} × {reason}")
    print(f"{len(paths)} daemons traced, {len(total)} kinds of calls in which the loop could wait for another process")
    sys.exit(1 if total else 0)


main(sys.argv[1:])
