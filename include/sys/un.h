/* Addresses of AF_UNIX: names within this image. There are no other processes to talk to. */
#ifndef RINGLET_SYS_UN_H
#define RINGLET_SYS_UN_H

#include <sys/socket.h>

#define UNIX_PATH_MAX 108

struct sockaddr_un {
    sa_family_t sun_family;
    char sun_path[UNIX_PATH_MAX];
};

#define SUN_LEN(addr) (offsetof(struct sockaddr_un, sun_path) + __builtin_strlen((addr)->sun_path))

#endif
