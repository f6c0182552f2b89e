import Foundation

/// A fault of the machine, simulated by a library that the daemon preloads. While a switch file exists, a system call
/// behaves differently.
struct MachineFault {
    /// Environment variables for the process with the fault.
    let environment: [String: String]
    private let switchPath: String

    /// - Parameter source: C code that replaces system calls. It may call `is_on()`, which is true while the fault is
    ///   on, and `told()`, which returns the number in the switch file. `count()` counts a call, and
    ///   `is_meant(descriptor, end)` is true if the path of the descriptor ends in `end`.
    private init(in folder: String, _ source: String) async throws {
        switchPath = folder + "/fault"
        let (path, library) = (folder + "/fault.c", folder + "/fault.so")
        try (Self.prelude(switchPath) + source).write(toFile: path, atomically: true, encoding: .utf8)
        try await CommandLineTool.run(
            program: "/usr/bin/gcc", ["-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, path], in: folder)
        environment = ["LD_PRELOAD": library]
    }

    func set(_ isOn: Bool) throws {
        if isOn { try set(to: "") }
        if !isOn { try FileManager.default.removeItem(atPath: switchPath) }
    }

    /// Turns the fault on, with a number that the library reads.
    func set(to text: String) throws {
        try text.write(toFile: switchPath, atomically: true, encoding: .utf8)
    }

    /// The number of times that the library called `count()`.
    var counted: Int {
        FileManager.default.contents(atPath: switchPath + ".count")?.count ?? 0
    }

    private static func prelude(_ switchPath: String) -> String {
        #"""
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <netdb.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/epoll.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static int is_on(void) { return access("\#(switchPath)", F_OK) == 0; }

        static long told(void) {
            char text[32] = "";
            int file = syscall(SYS_openat, AT_FDCWD, "\#(switchPath)", O_RDONLY | O_CLOEXEC);
            if (file < 0) return 0;
            if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
            close(file);
            return atol(text);
        }

        static int counter;
        __attribute__((constructor)) static void begin(void) {
            int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
            counter = syscall(SYS_openat, AT_FDCWD, "\#(switchPath).count", flags, 0600);
        }
        static void count(void) { syscall(SYS_write, counter, "x", 1); }

        static int is_meant(int descriptor, const char *end) {
            char link[64], path[4096] = "";
            snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
            ssize_t length = readlink(link, path, sizeof path - 1), tail = strlen(end);
            return length >= tail && strcmp(path + length - tail, end) == 0;
        }

        """#
    }
}

// MARK: Disks

extension MachineFault {
    /// Creates a fault in which syncs of a file whose path ends in `end` fail, as on a failing disk.
    static func failingSync(in folder: String, of end: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            int fdatasync(int descriptor) {
                if (!is_meant(descriptor, "\#(end)") || !is_on()) return syscall(SYS_fdatasync, descriptor);
                errno = EIO;
                return -1;
            }
            """#)
    }

    /// Creates a fault in which each sync blocks until the fault is turned off.
    static func hangingSync(in folder: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            int fdatasync(int descriptor) {
                while (is_on()) usleep(1000);
                return syscall(SYS_fdatasync, descriptor);
            }
            """#)
    }

    /// Creates a fault in which files whose names end in `end` cannot be written, as on a file system that became
    /// read-only after errors.
    static func readOnlyFiles(in folder: String, endingIn end: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
                if (!is_meant(descriptor, "\#(end)") || !is_on())
                    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
                errno = EROFS;
                return -1;
            }

            ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
                return pwrite64(descriptor, bytes, count, offset);
            }
            """#)
    }
}

// MARK: Turns

extension MachineFault {
    /// Counts the turns of the event loop, without a fault. ``counted`` returns the number.
    static func countedTurns(in folder: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            int epoll_pwait(int poll, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
                count();
                return syscall(SYS_epoll_pwait, poll, events, most, timeout, mask, 8);
            }

            int epoll_wait(int poll, struct epoll_event *events, int most, int timeout) {
                return epoll_pwait(poll, events, most, timeout, NULL);
            }
            """#)
    }
}

// MARK: Memory

extension MachineFault {
    /// Counts the allocations of memory and their bytes, without a fault. ``allocations`` returns both.
    static func countedAllocations(in folder: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            #include <sys/mman.h>

            extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
            extern void *__libc_memalign(size_t, size_t);

            static struct { long calls, bytes; } *sums;

            __attribute__((constructor)) static void begin_sums(void) {
                int file = syscall(SYS_openat, AT_FDCWD, "\#(folder)/fault.sums", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
                if (ftruncate(file, sizeof *sums) != 0) return;
                void *memory = mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
                if (memory != MAP_FAILED) sums = memory;
                close(file);
            }

            static void note(size_t size) {
                if (!sums) return;
                __atomic_add_fetch(&sums->calls, 1, __ATOMIC_SEQ_CST);
                __atomic_add_fetch(&sums->bytes, size, __ATOMIC_SEQ_CST);
            }

            void *malloc(size_t size) { note(size); return __libc_malloc(size); }
            void *calloc(size_t count, size_t size) { note(count * size); return __libc_calloc(count, size); }
            void *realloc(void *old, size_t size) { note(size); return __libc_realloc(old, size); }
            void *memalign(size_t step, size_t size) { note(size); return __libc_memalign(step, size); }
            void *aligned_alloc(size_t step, size_t size) { note(size); return __libc_memalign(step, size); }
            int posix_memalign(void **place, size_t step, size_t size) {
                note(size);
                *place = __libc_memalign(step, size);
                return *place ? 0 : ENOMEM;
            }
            """#)
    }

    /// The allocations since the start of the process, by ``countedAllocations(in:)``.
    var allocations: Allocations {
        let sums = FileManager.default.contents(atPath: switchPath + ".sums") ?? Data()
        guard sums.count == 16 else { return Allocations(calls: 0, bytes: 0) }
        return sums.withUnsafeBytes {
            Allocations(calls: $0.load(as: Int.self), bytes: $0.load(fromByteOffset: 8, as: Int.self))
        }
    }

    /// A number of allocations, and their bytes.
    struct Allocations {
        var calls: Int
        var bytes: Int

        static func - (one: Allocations, other: Allocations) -> Allocations {
            Allocations(calls: one.calls - other.calls, bytes: one.bytes - other.bytes)
        }
    }
}

// MARK: Names and clocks

extension MachineFault {
    /// A host name for this machine, which the resolver knows only when the fault is off.
    static let hostName = "collector.test"

    /// Creates a fault in which a lookup of ``hostName`` blocks until the fault is turned off.
    static func hangingResolver(in folder: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

            int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
                look_up *real = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
                if (!name || strcmp(name, "\#(hostName)") != 0) return real(name, port, hints, found);
                while (is_on()) usleep(1000);
                return real("127.0.0.1", port, hints, found);
            }
            """#)
    }

    /// Creates a fault in which the wall clock is off by the number of seconds given to ``set(to:)``.
    static func wrongClock(in folder: String) async throws -> MachineFault {
        try await MachineFault(
            in: folder,
            #"""
            int clock_gettime(clockid_t clock, struct timespec *now) {
                int answer = syscall(SYS_clock_gettime, clock, now);
                if (answer == 0 && clock == CLOCK_REALTIME) now->tv_sec += told();
                return answer;
            }

            int gettimeofday(struct timeval *restrict now, void *restrict zone) {
                int answer = syscall(SYS_gettimeofday, now, zone);
                if (answer == 0) now->tv_sec += told();
                return answer;
            }

            time_t time(time_t *copy) {
                struct timespec now;
                clock_gettime(CLOCK_REALTIME, &now);
                if (copy) *copy = now.tv_sec;
                return now.tv_sec;
            }
            """#)
    }
}
