/* A disk that remembers and can break, between a program and its files (LD_PRELOAD).
 *
 * Every change below $DISK_ROOT goes into the journal $DISK_JOURNAL, syncs included, in the order
 * in which it happened: from it the disk can be built as a power cut at any moment leaves it. A
 * program that was told to (disk_arm) meets a failure at the k-th call that touches these files, or
 * is killed there. One thread at a time may touch them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS 4096
#define REAL(name) ((__typeof__(&name))real(#name))

enum { ONCE, FROM_THEN_ON, KILL, HALF_A_WRITE };

static const char *root;
static int journal = -1;
static char *paths[FDS];
static long at, calls;
static int how, error_number, fired;
static char failed_call[32], failed_path[PATH_MAX];

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

__attribute__((constructor)) static void begin(void) {
    root = getenv("DISK_ROOT");
    const char *told = getenv("DISK_JOURNAL");
    if (told) journal = REAL(open)(told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static const char *path_of(int fd) { return fd >= 0 && fd < FDS ? paths[fd] : NULL; }

static void all_of(const void *data, size_t length) {
    for (const char *rest = data; length;) {
        ssize_t done = REAL(write)(journal, rest, length);
        if (done < 0) abort();
        rest += done;
        length -= (size_t)done;
    }
}

static void record(char kind, const char *path, uint64_t place, const void *data, uint32_t length) {
    struct __attribute__((packed)) {
        char kind;
        uint32_t name;
        uint64_t place;
        uint32_t length;
    } head = {kind, (uint32_t)strlen(path), place, length};
    if (journal < 0) return;
    all_of(&head, sizeof head);
    all_of(path, head.name);
    if (length) all_of(data, length);
}

/* Whether this call is to fail; errno is set. */
static int fails(const char *call, const char *path) {
    calls++;
    int after = how == FROM_THEN_ON || (how == HALF_A_WRITE && calls == at + 1);
    if (!at || calls < at || (calls > at && !after)) return 0;
    if (!fired) {
        snprintf(failed_call, sizeof failed_call, "%s", call);
        snprintf(failed_path, sizeof failed_path, "%s", path);
    }
    fired++;
    if (how == KILL) raise(SIGKILL);
    errno = error_number;
    return 1;
}

/* ------------------------------------------------------------ what the tests call */

void disk_arm(long call, int error, int manner) {
    at = call, calls = 0, fired = 0, error_number = error, how = manner;
    failed_call[0] = failed_path[0] = 0;
}

long disk_disarm(void) {
    at = 0;
    return calls;
}

int disk_fired(void) { return fired; }
const char *disk_failed_call(void) { return failed_call; }
const char *disk_failed_path(void) { return failed_path; }
void disk_mark(uint64_t number) { record('A', "", number, NULL, 0); }

/* ------------------------------------------------------------ what programs call */

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    int (*next)(const char *, int, ...) = real(name);
    if (!is_ours(path)) return next(path, flags, mode);
    if (fails("open", path)) return -1;
    int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    int fd = next(path, flags, mode);
    if (fd >= 0 && fd < FDS) {
        free(paths[fd]);
        paths[fd] = strdup(path);
        if (is_new) record('C', path, 0, NULL, 0);
        else if (flags & O_TRUNC) record('T', path, 0, NULL, 0);
    }
    return fd;
}

#define OPEN(name)                                       \
    int name(const char *path, int flags, ...) {         \
        mode_t mode = 0;                                 \
        if (flags & (O_CREAT | O_TMPFILE)) {             \
            va_list more;                                \
            va_start(more, flags);                       \
            mode = va_arg(more, mode_t);                 \
            va_end(more);                                \
        }                                                \
        return opened(#name, path, flags, mode);         \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (path_of(fd)) {
        free(paths[fd]);
        paths[fd] = NULL;
    }
    return REAL(close)(fd);
}

static ssize_t placed(int fd, const void *data, size_t count, off_t place) {
    ssize_t done = REAL(pwrite)(fd, data, count, place);
    if (done > 0) record('W', paths[fd], (uint64_t)place, data, (uint32_t)done);
    return done;
}

static ssize_t wrote(int fd, const void *data, size_t count, off_t place) {
    if (!fails("write", paths[fd])) return placed(fd, data, count, place);
    int fits_half = how == HALF_A_WRITE && calls == at && count > 1;
    return fits_half ? placed(fd, data, count / 2, place) : -1;
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t place) {
    return path_of(fd) ? wrote(fd, data, count, place) : REAL(pwrite)(fd, data, count, place);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t place) {
    return path_of(fd) ? wrote(fd, data, count, place) : REAL(pwrite64)(fd, data, count, place);
}

ssize_t write(int fd, const void *data, size_t count) {
    if (!path_of(fd)) return REAL(write)(fd, data, count);
    off_t place = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    ssize_t done = wrote(fd, data, count, place);
    if (done > 0) lseek(fd, place + done, SEEK_SET);
    return done;
}

#define READ(name, more, told)                                                    \
    ssize_t name(int fd, void *data, size_t count more) {                         \
        if (path_of(fd) && fails("read", paths[fd])) return -1;                   \
        return REAL(name)(fd, data, count told);                                  \
    }
#define COMMA ,
READ(read, , )
READ(pread, COMMA off_t place, COMMA place)
READ(pread64, COMMA off64_t place, COMMA place)

#define TRUNCATE(name, type)                                                      \
    int name(int fd, type size) {                                                 \
        const char *path = path_of(fd);                                           \
        if (path && fails("truncate", path)) return -1;                           \
        int done = REAL(name)(fd, size);                                          \
        if (path && !done) record('T', path, (uint64_t)size, NULL, 0);            \
        return done;                                                              \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                                \
    int name(int fd) {                                                            \
        const char *path = path_of(fd);                                           \
        if (path && fails("sync", path)) return -1;                               \
        int done = REAL(name)(fd);                                                \
        if (path && !done) record('S', path, 0, NULL, 0);                         \
        return done;                                                              \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    if (is_ours(path) && fails("unlink", path)) return -1;
    int done = REAL(unlink)(path);
    if (is_ours(path) && !done) record('U', path, 0, NULL, 0);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    if (is_ours(path) && fails("mkdir", path)) return -1;
    int done = REAL(mkdir)(path, mode);
    if (is_ours(path) && !done) record('M', path, 0, NULL, 0);
    return done;
}

#define MAP(name, type)                                                           \
    void *name(void *where, size_t length, int rights, int flags, int fd, type place) { \
        if (path_of(fd) && fails("mmap", paths[fd])) return MAP_FAILED;           \
        return REAL(name)(where, length, rights, flags, fd, place);               \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)
