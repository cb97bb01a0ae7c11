/* What newlib's <dirent.h> leaves to the system: the entry and the open directory. */
#ifndef RINGLET_SYS_DIRENT_H
#define RINGLET_SYS_DIRENT_H

#include <sys/types.h>

struct dirent {
    ino_t d_ino;
    long d_off; /* for seekdir() */
    unsigned short d_reclen;
    unsigned char d_type; /* DT_ */
    char d_name[256];
};

typedef struct ringlet_dir DIR;

#define DT_UNKNOWN 0
#define DT_FIFO 1
#define DT_CHR 2
#define DT_DIR 4
#define DT_BLK 6
#define DT_REG 8
#define DT_LNK 10
#define DT_SOCK 12

#define _DIRENT_HAVE_D_TYPE 1

#endif
