/* Requests for ioctl(). The values are Linux's. */
#ifndef RINGLET_SYS_IOCTL_H
#define RINGLET_SYS_IOCTL_H

#ifdef __cplusplus
extern "C" {
#endif

#define FIONREAD 0x541b /* int *: bytes that can be read without waiting */
#define FIONBIO 0x5421  /* int *: non-zero sets O_NONBLOCK */
#define TIOCOUTQ 0x5411 /* int *: bytes not yet acknowledged by the peer */
#define SIOCINQ FIONREAD
#define SIOCOUTQ TIOCOUTQ
#define SIOCATMARK 0x8905

int ioctl(int fd, unsigned long request, ...);

#ifdef __cplusplus
}
#endif

#endif
