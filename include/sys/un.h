/* Addresses of AF_UNIX. There are no other processes to talk to: socketpair() is what uses the family here. */
#ifndef RINGLET_SYS_UN_H
#define RINGLET_SYS_UN_H

#include <sys/socket.h>

struct sockaddr_un {
    sa_family_t sun_family;
    char sun_path[108];
};

#endif
