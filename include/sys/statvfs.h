/* What a file system holds and may hold (POSIX.1-2017). All of ours lies in memory and is told of as one. */
#ifndef RINGLET_SYS_STATVFS_H
#define RINGLET_SYS_STATVFS_H

#include <sys/types.h>

struct statvfs {
    unsigned long f_bsize, f_frsize;        /* bytes */
    fsblkcnt_t f_blocks, f_bfree, f_bavail; /* in units of f_frsize */
    fsfilcnt_t f_files, f_ffree, f_favail;  /* names */
    unsigned long f_fsid, f_flag, f_namemax;
};

#define ST_RDONLY 1
#define ST_NOSUID 2

#ifdef __cplusplus
extern "C" {
#endif

int statvfs(const char *path, struct statvfs *st);
int fstatvfs(int fd, struct statvfs *st);

#ifdef __cplusplus
}
#endif

#endif
