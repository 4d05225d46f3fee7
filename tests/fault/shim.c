/*
 * A disk that can be watched and can fail, for the tests: preloaded into the program with LD_PRELOAD, it stands between
 * the program and the C library. It looks at the files below one directory, and at what is sent on sockets.
 *
 *   SHIM_DIR        the directory, absolute and without symbolic links; nothing happens without it
 *   SHIM_RECORD     a file that gets every operation, for a replayer that cuts the power at any of them
 *   SHIM_KILL       OPERATION:NUMBER:MOMENT, such as fdatasync:2:after; the process dies by SIGKILL at that operation,
 *                   `before`, `halfway` (of a write) or `after` it; operations are those of `names`, or `any`
 *   SHIM_ARM        counting for SHIM_KILL begins when this file exists; at once without it
 *   SHIM_FAIL       `enospc` or `eio`: what goes wrong while the file SHIM_FAIL_WHEN exists
 *
 * An acknowledgement that leaves before its sync must be caught. So the order in the record is the pessimistic one: a
 * write is there once it has returned, a sync covers the writes that returned before it was entered and only once it
 * has returned itself, and a payload is there before it leaves.
 *
 * The shim calls the kernel itself instead of the next library, so nothing of its own is ever recorded. What it cannot
 * record truly (a shared writable mapping, a copy inside the kernel) it refuses by ending the process, since a replay
 * of such a record would prove nothing. The test that replays a whole record and compares it with the directory is
 * what shows that no door was forgotten.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* A file handle above this is not followed; the program opens its store before it takes connections. */
#define FILES_MAX 4096

/* Vectors of one payload or write. */
#define VECTORS_MAX 1024

/* The numbers are the format of the record; `harness/recording.rs` reads it. */
enum operation {
    CREATE = 1,
    WRITE = 2,
    TRUNCATE = 3,
    ALLOCATE = 4,
    RENAME = 5,
    UNLINK = 6,
    MKDIR = 7,
    FSYNC = 8,
    FDATASYNC = 9,
    RANGE = 10,
    SENT = 11,
    SYNCED = 12, /* the end of FSYNC or FDATASYNC */
};

/* What SHIM_KILL can name. */
static const char *const names[] = {
    [CREATE] = "create", [WRITE] = "write", [TRUNCATE] = "truncate", [ALLOCATE] = "allocate",
    [RENAME] = "rename", [UNLINK] = "unlink", [MKDIR] = "mkdir", [FSYNC] = "fsync",
    [FDATASYNC] = "fdatasync", [RANGE] = "sync_file_range",
};

enum moment { NEVER, BEFORE, HALFWAY, AFTER };
enum failure { NOTHING, NO_SPACE, NO_SYNC };

static const char *directory;
static size_t directory_bytes;
static int record = -1;

static enum operation kill_operation; /* zero for any of them */
static unsigned long kill_number;     /* zero for none of them */
static enum moment kill_moment;
static const char *arm;
static atomic_bool armed;
static atomic_ulong counted;

static enum failure failure;
static const char *fail_when;
static atomic_ulong refused;

/* Guards `paths`. */
static pthread_mutex_t paths_lock = PTHREAD_MUTEX_INITIALIZER;
/* The path of each open file below the directory, relative to it; the directory itself is "". */
static char *paths[FILES_MAX];

/* Numbers the syncs of this process. */
static atomic_ulong syncs;

static _Noreturn void refuse(const char *what) {
    dprintf(STDERR_FILENO, "shim: cannot follow %s\n", what);
    abort();
}

/* ---- Start ---- */

static void read_kill(const char *text) {
    char name[32], moment[16];
    if (sscanf(text, "%31[a-z_]:%lu:%15[a-z]", name, &kill_number, moment) != 3) refuse(text);
    for (size_t at = CREATE; at < sizeof names / sizeof *names; at++)
        if (strcmp(name, names[at]) == 0) kill_operation = (enum operation)at;
    if (kill_operation == 0 && strcmp(name, "any") != 0) refuse(text);
    if (strcmp(moment, "before") == 0) kill_moment = BEFORE;
    else if (strcmp(moment, "halfway") == 0) kill_moment = HALFWAY;
    else if (strcmp(moment, "after") == 0) kill_moment = AFTER;
    else refuse(text);
}

static void read_failure(const char *text) {
    if (strcmp(text, "enospc") == 0) failure = NO_SPACE;
    else if (strcmp(text, "eio") == 0) failure = NO_SYNC;
    else refuse(text);
    fail_when = getenv("SHIM_FAIL_WHEN");
    if (fail_when == NULL) refuse("SHIM_FAIL without SHIM_FAIL_WHEN");
}

__attribute__((constructor)) static void start(void) {
    const char *text;
    directory = getenv("SHIM_DIR");
    if (directory == NULL) return;
    directory_bytes = strlen(directory);
    if ((text = getenv("SHIM_RECORD")) != NULL) {
        record = (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (record < 0) refuse(text);
    }
    if ((text = getenv("SHIM_KILL")) != NULL) read_kill(text);
    arm = getenv("SHIM_ARM");
    if ((text = getenv("SHIM_FAIL")) != NULL) read_failure(text);
}

/* ---- Which file ---- */

/* The part of the path below the directory, NULL when it is elsewhere. */
static const char *below(const char *path) {
    if (directory == NULL || strncmp(path, directory, directory_bytes) != 0) return NULL;
    path += directory_bytes;
    if (*path == '\0') return path;
    return *path == '/' ? path + 1 : NULL;
}

static bool exists(const char *path) {
    return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* The path behind a file handle, as the kernel sees it. */
static bool named(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0) return false;
    path[length] = '\0';
    return true;
}

/* Makes a path of an argument absolute; `..` and symbolic links inside it are not resolved. */
static bool absolute(int at, const char *path, char full[PATH_MAX]) {
    if (directory == NULL || path == NULL) return false;
    char base[PATH_MAX];
    if (path[0] == '/') return snprintf(full, PATH_MAX, "%s", path) < PATH_MAX;
    if (at == AT_FDCWD) {
        if (syscall(SYS_getcwd, base, sizeof base) < 0) return false;
    } else if (!named(at, base)) {
        return false;
    }
    return snprintf(full, PATH_MAX, "%s/%s", base, path) < PATH_MAX;
}

/* Follows the file behind a new handle if it is below the directory. */
static void follow(int fd) {
    char full[PATH_MAX];
    if (directory == NULL || fd < 0 || !named(fd, full)) return;
    const char *path = below(full);
    if (path == NULL) return;
    if (fd >= FILES_MAX) refuse("so many open files");
    pthread_mutex_lock(&paths_lock);
    free(paths[fd]);
    paths[fd] = strdup(path);
    pthread_mutex_unlock(&paths_lock);
}

static void unfollow(int fd) {
    if (directory == NULL || fd < 0 || fd >= FILES_MAX) return;
    pthread_mutex_lock(&paths_lock);
    free(paths[fd]);
    paths[fd] = NULL;
    pthread_mutex_unlock(&paths_lock);
}

/* Whether the handle is a file below the directory, and its path. */
static bool followed(int fd, char path[PATH_MAX]) {
    if (directory == NULL || fd < 0 || fd >= FILES_MAX) return false;
    pthread_mutex_lock(&paths_lock);
    bool found = paths[fd] != NULL;
    if (found) snprintf(path, PATH_MAX, "%s", paths[fd]);
    pthread_mutex_unlock(&paths_lock);
    return found;
}

/* Open handles keep to their file when its name changes; `to` is NULL when the name goes. */
static void renamed(const char *from, const char *to) {
    pthread_mutex_lock(&paths_lock);
    for (size_t fd = 0; fd < FILES_MAX; fd++) {
        if (paths[fd] == NULL) continue;
        bool old = strcmp(paths[fd], from) == 0;
        /* A file that is renamed over loses its name as well. */
        if (!old && (to == NULL || strcmp(paths[fd], to) != 0)) continue;
        free(paths[fd]);
        paths[fd] = old && to != NULL ? strdup(to) : NULL;
    }
    pthread_mutex_unlock(&paths_lock);
}

/* ---- Record ---- */

/* The head of an entry; the path and then the data follow it. */
struct head {
    uint32_t operation;
    uint32_t path_bytes;
    uint64_t first;
    uint64_t second;
    uint64_t data_bytes;
};

/* Appends one entry. One call to the kernel, so that entries of threads do not mix. */
static void note_vector(enum operation operation, const char *path, uint64_t first, uint64_t second,
                        const struct iovec *data, size_t vectors, size_t data_bytes) {
    if (record < 0) return;
    if (vectors > VECTORS_MAX - 2) refuse("so many vectors");
    int error = errno;
    struct head head = { operation, (uint32_t)strlen(path), first, second, data_bytes };
    struct iovec parts[VECTORS_MAX] = { { &head, sizeof head }, { (void *)(uintptr_t)path, head.path_bytes } };
    size_t count = 2, left = data_bytes;
    for (size_t at = 0; at < vectors && left > 0; at++) {
        size_t length = data[at].iov_len < left ? data[at].iov_len : left;
        parts[count++] = (struct iovec){ data[at].iov_base, length };
        left -= length;
    }
    size_t whole = sizeof head + head.path_bytes + data_bytes;
    if (syscall(SYS_writev, record, parts, count) != (ssize_t)whole) refuse("its own record");
    errno = error;
}

static void note_data(enum operation operation, const char *path, uint64_t first, const void *data, size_t bytes) {
    struct iovec vector = { (void *)(uintptr_t)data, bytes };
    note_vector(operation, path, first, 0, &vector, 1, bytes);
}

static void note(enum operation operation, const char *path, uint64_t first, uint64_t second) {
    note_vector(operation, path, first, second, NULL, 0, 0);
}

/* ---- Kill ---- */

static _Noreturn void die(void) {
    for (;;) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

/* Counts an operation that is about to happen. Does not return when the process dies before it. */
static enum moment enter(enum operation operation) {
    if (kill_number == 0 || (kill_operation != 0 && kill_operation != operation)) return NEVER;
    if (arm != NULL && !atomic_load(&armed)) {
        if (!exists(arm)) return NEVER;
        atomic_store(&armed, true);
    }
    if (atomic_fetch_add(&counted, 1) + 1 != kill_number) return NEVER;
    if (kill_moment == BEFORE) die();
    /* Only a write has a middle. */
    if (kill_moment == HALFWAY && operation != WRITE) return AFTER;
    return kill_moment;
}

static void leave(enum moment moment) {
    if (moment == AFTER) die();
}

/* ---- Fail ---- */

static bool fails(enum failure kind) {
    return failure == kind && exists(fail_when);
}

/* How much of a write the disk takes; it fills up in the middle of every other one, as real disks do. */
static size_t room(size_t bytes) {
    if (!fails(NO_SPACE)) return bytes;
    if (bytes > 1 && atomic_fetch_add(&refused, 1) % 2 == 0) return bytes / 2;
    errno = ENOSPC;
    return 0;
}

/* ---- Files ---- */

static int open_at(int at, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    const char *name = absolute(at, path, full) ? below(full) : NULL;
    bool creates = name != NULL && (flags & O_CREAT) && !exists(full);
    bool empties = name != NULL && (flags & O_TRUNC) && !creates && exists(full);
    if (name != NULL && (flags & O_TMPFILE) == O_TMPFILE) refuse("a file without a name");
    enum moment moment = creates ? enter(CREATE) : empties ? enter(TRUNCATE) : NEVER;
    if (creates && fails(NO_SPACE)) {
        errno = ENOSPC;
        return -1;
    }
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd < 0) return fd;
    follow(fd);
    if (creates) note(CREATE, name, 0, 0);
    if (empties) note(TRUNCATE, name, 0, 0);
    leave(moment);
    return fd;
}

static mode_t mode_of(int flags, va_list rest) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                        \
    EXPORT int name(const char *path, int flags, ...) {   \
        va_list rest;                                     \
        va_start(rest, flags);                            \
        mode_t mode = mode_of(flags, rest);               \
        va_end(rest);                                     \
        return open_at(AT_FDCWD, path, flags, mode);      \
    }
#define OPENAT(name)                                             \
    EXPORT int name(int at, const char *path, int flags, ...) {  \
        va_list rest;                                            \
        va_start(rest, flags);                                   \
        mode_t mode = mode_of(flags, rest);                      \
        va_end(rest);                                            \
        return open_at(at, path, flags, mode);                   \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORT int creat(const char *path, mode_t mode) {
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

EXPORT int creat64(const char *path, mode_t mode) {
    return creat(path, mode);
}

EXPORT int close(int fd) {
    /* First, since another thread may get the number as soon as it is free. */
    unfollow(fd);
    return (int)syscall(SYS_close, fd);
}

static int duplicated(int from, int fd) {
    char path[PATH_MAX];
    if (fd >= 0) unfollow(fd);
    if (fd >= 0 && followed(from, path)) follow(fd);
    return fd;
}

EXPORT int dup(int fd) {
    return duplicated(fd, (int)syscall(SYS_dup, fd));
}

EXPORT int dup2(int fd, int wanted) {
    if (fd == wanted) return (int)syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : fd;
    return duplicated(fd, (int)syscall(SYS_dup3, fd, wanted, 0));
}

EXPORT int dup3(int fd, int wanted, int flags) {
    return duplicated(fd, (int)syscall(SYS_dup3, fd, wanted, flags));
}

#define FCNTL(name)                                                                                   \
    EXPORT int name(int fd, int command, ...) {                                                       \
        va_list rest;                                                                                 \
        va_start(rest, command);                                                                      \
        long argument = va_arg(rest, long);                                                           \
        va_end(rest);                                                                                 \
        int result = (int)syscall(SYS_fcntl, fd, command, argument);                                  \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicated(fd, result) : result;    \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- Writes ---- */

/* The kernel moves the position of a file by what was written, also when it was opened for appending. */
#define AT_POSITION (-1)

static ssize_t write_file(int fd, const char *path, const void *data, size_t bytes, off64_t offset) {
    enum moment moment = enter(WRITE);
    size_t taken = moment == HALFWAY ? bytes / 2 : room(bytes);
    if (taken == 0 && bytes > 0 && moment != HALFWAY) return -1;
    ssize_t written = offset == AT_POSITION ? syscall(SYS_write, fd, data, taken)
                                            : syscall(SYS_pwrite64, fd, data, taken, offset);
    if (written > 0) {
        off64_t end = offset == AT_POSITION ? syscall(SYS_lseek, fd, 0, SEEK_CUR) : offset + written;
        note_data(WRITE, path, (uint64_t)(end - written), data, (size_t)written);
    }
    if (moment == HALFWAY) die();
    leave(moment);
    return written;
}

/* Several pieces as one write of their first one: a caller must expect a short write. */
static ssize_t write_first(int fd, const char *path, const struct iovec *data, int vectors, off64_t offset) {
    for (int at = 0; at < vectors; at++)
        if (data[at].iov_len > 0) return write_file(fd, path, data[at].iov_base, data[at].iov_len, offset);
    return 0;
}

static void note_sent(int fd, const struct iovec *data, size_t vectors) {
    size_t bytes = 0;
    for (size_t at = 0; at < vectors; at++) bytes += data[at].iov_len;
    note_vector(SENT, "", (uint64_t)fd, 0, data, vectors, bytes);
}

static bool is_socket(int fd) {
    struct stat state;
    return record >= 0 && syscall(SYS_fstat, fd, &state) == 0 && S_ISSOCK(state.st_mode);
}

EXPORT ssize_t write(int fd, const void *data, size_t bytes) {
    char path[PATH_MAX];
    if (followed(fd, path)) return write_file(fd, path, data, bytes, AT_POSITION);
    struct iovec vector = { (void *)(uintptr_t)data, bytes };
    if (is_socket(fd)) note_sent(fd, &vector, 1);
    return syscall(SYS_write, fd, data, bytes);
}

EXPORT ssize_t writev(int fd, const struct iovec *data, int vectors) {
    char path[PATH_MAX];
    if (followed(fd, path)) return write_first(fd, path, data, vectors, AT_POSITION);
    if (is_socket(fd)) note_sent(fd, data, (size_t)vectors);
    return syscall(SYS_writev, fd, data, vectors);
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
    char path[PATH_MAX];
    if (followed(fd, path)) return write_file(fd, path, data, bytes, offset);
    return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    return pwrite64(fd, data, bytes, offset);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *data, int vectors, off64_t offset) {
    char path[PATH_MAX];
    if (followed(fd, path)) return write_first(fd, path, data, vectors, offset);
    return syscall(SYS_pwritev, fd, data, vectors, (unsigned long)offset, (unsigned long)((uint64_t)offset >> 32));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *data, int vectors, off_t offset) {
    return pwritev64(fd, data, vectors, offset);
}

EXPORT ssize_t send(int fd, const void *data, size_t bytes, int flags) {
    struct iovec vector = { (void *)(uintptr_t)data, bytes };
    note_sent(fd, &vector, 1);
    return syscall(SYS_sendto, fd, data, bytes, flags, NULL, 0);
}

EXPORT ssize_t sendto(int fd, const void *data, size_t bytes, int flags, __CONST_SOCKADDR_ARG to, socklen_t length) {
    struct iovec vector = { (void *)(uintptr_t)data, bytes };
    note_sent(fd, &vector, 1);
    return syscall(SYS_sendto, fd, data, bytes, flags, to.__sockaddr__, length);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    note_sent(fd, message->msg_iov, message->msg_iovlen);
    return syscall(SYS_sendmsg, fd, message, flags);
}

/* ---- Sizes ---- */

EXPORT int ftruncate64(int fd, off64_t length) {
    char path[PATH_MAX];
    struct stat state;
    if (!followed(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    enum moment moment = enter(TRUNCATE);
    bool grows = syscall(SYS_fstat, fd, &state) == 0 && length > state.st_size;
    if (grows && fails(NO_SPACE)) {
        errno = ENOSPC;
        return -1;
    }
    int result = (int)syscall(SYS_ftruncate, fd, length);
    if (result == 0) note(TRUNCATE, path, (uint64_t)length, 0);
    leave(moment);
    return result;
}

EXPORT int ftruncate(int fd, off_t length) {
    return ftruncate64(fd, length);
}

EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    char path[PATH_MAX];
    if (!followed(fd, path)) return (int)syscall(SYS_fallocate, fd, mode, offset, length);
    if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0) refuse("a file with a hole punched into it");
    enum moment moment = enter(ALLOCATE);
    if (fails(NO_SPACE)) {
        errno = ENOSPC;
        return -1;
    }
    int result = (int)syscall(SYS_fallocate, fd, mode, offset, length);
    if (result == 0 && mode == 0) note(ALLOCATE, path, (uint64_t)(offset + length), 0);
    leave(moment);
    return result;
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t length) {
    return fallocate64(fd, mode, offset, length);
}

EXPORT int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    return fallocate64(fd, 0, offset, length) == 0 ? 0 : errno;
}

EXPORT int posix_fallocate(int fd, off_t offset, off_t length) {
    return posix_fallocate64(fd, offset, length);
}

/* ---- Names ---- */

EXPORT int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned int flags) {
    char full_from[PATH_MAX], full_to[PATH_MAX];
    const char *old = absolute(from_at, from, full_from) ? below(full_from) : NULL;
    const char *new = absolute(to_at, to, full_to) ? below(full_to) : NULL;
    if (old == NULL && new == NULL) return (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    if (old == NULL || new == NULL || flags != 0) refuse("a rename into or out of the directory");
    enum moment moment = enter(RENAME);
    int result = (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
    if (result == 0) {
        renamed(old, new);
        note_data(RENAME, old, 0, new, strlen(new));
    }
    leave(moment);
    return result;
}

EXPORT int renameat(int from_at, const char *from, int to_at, const char *to) {
    return renameat2(from_at, from, to_at, to, 0);
}

EXPORT int rename(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int unlinkat(int at, const char *path, int flags) {
    char full[PATH_MAX];
    const char *name = absolute(at, path, full) ? below(full) : NULL;
    if (name == NULL) return (int)syscall(SYS_unlinkat, at, path, flags);
    enum moment moment = enter(UNLINK);
    int result = (int)syscall(SYS_unlinkat, at, path, flags);
    if (result == 0) {
        renamed(name, NULL);
        note(UNLINK, name, 0, 0);
    }
    leave(moment);
    return result;
}

EXPORT int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}

EXPORT int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

EXPORT int mkdirat(int at, const char *path, mode_t mode) {
    char full[PATH_MAX];
    const char *name = absolute(at, path, full) ? below(full) : NULL;
    if (name == NULL) return (int)syscall(SYS_mkdirat, at, path, mode);
    enum moment moment = enter(MKDIR);
    if (fails(NO_SPACE)) {
        errno = ENOSPC;
        return -1;
    }
    int result = (int)syscall(SYS_mkdirat, at, path, mode);
    if (result == 0) note(MKDIR, name, 0, 0);
    leave(moment);
    return result;
}

EXPORT int mkdir(const char *path, mode_t mode) {
    return mkdirat(AT_FDCWD, path, mode);
}

EXPORT int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    char full[PATH_MAX];
    if (absolute(to_at, to, full) && below(full) != NULL) refuse("a second name of a file");
    return (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
}

EXPORT int link(const char *from, const char *to) {
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- Syncs ---- */

static int sync_file(int fd, const char *path, enum operation operation, long number) {
    enum moment moment = enter(operation);
    if (fails(NO_SYNC)) {
        errno = EIO;
        return -1;
    }
    unsigned long id = atomic_fetch_add(&syncs, 1);
    note(operation, path, id, 0);
    int result = (int)syscall(number, fd);
    if (result == 0) note(SYNCED, path, id, 0);
    leave(moment);
    return result;
}

EXPORT int fsync(int fd) {
    char path[PATH_MAX];
    return followed(fd, path) ? sync_file(fd, path, FSYNC, SYS_fsync) : (int)syscall(SYS_fsync, fd);
}

EXPORT int fdatasync(int fd) {
    char path[PATH_MAX];
    return followed(fd, path) ? sync_file(fd, path, FDATASYNC, SYS_fdatasync) : (int)syscall(SYS_fdatasync, fd);
}

/* Recorded for whoever reads the record. It promises nothing: neither the size of the file nor the disk's own cache. */
EXPORT int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned int flags) {
    char path[PATH_MAX];
    if (!followed(fd, path)) return (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
    enum moment moment = enter(RANGE);
    int result = (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
    note(RANGE, path, (uint64_t)offset, (uint64_t)bytes);
    leave(moment);
    return result;
}

/* ---- What cannot be recorded ---- */

static void *map(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    char path[PATH_MAX];
    bool shared = (flags & (MAP_SHARED | MAP_SHARED_VALIDATE)) && (protection & PROT_WRITE);
    if (shared && followed(fd, path)) refuse("a shared mapping of a file");
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return map(address, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    return map(address, bytes, protection, flags, fd, offset);
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned int flags) {
    char path[PATH_MAX];
    if (followed(to, path)) refuse("a copy inside the kernel");
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, bytes, flags);
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes) {
    char path[PATH_MAX];
    if (followed(to, path)) refuse("a copy inside the kernel");
    return syscall(SYS_sendfile, to, from, offset, bytes);
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t bytes) {
    return sendfile64(to, from, offset, bytes);
}

/* ---- How much room ---- */

/* The kernel fills in more than these calls show, so the next library answers and is corrected. */
#define STATISTICS(name, type, structure)                                                                  \
    EXPORT int name(type file, struct structure *state) {                                                  \
        int (*next)(type, struct structure *) = (int (*)(type, struct structure *))dlsym(RTLD_NEXT, #name); \
        int result = next(file, state);                                                                    \
        if (result == 0 && fails(NO_SPACE)) state->f_bavail = state->f_bfree = 0;                          \
        return result;                                                                                     \
    }
STATISTICS(statvfs, const char *, statvfs)
STATISTICS(statvfs64, const char *, statvfs64)
STATISTICS(fstatvfs, int, statvfs)
STATISTICS(fstatvfs64, int, statvfs64)
STATISTICS(statfs, const char *, statfs)
STATISTICS(statfs64, const char *, statfs64)
STATISTICS(fstatfs, int, statfs)
STATISTICS(fstatfs64, int, statfs64)
