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
#define TIOCGWINSZ 0x5413 /* nothing here is a window: ENOTTY */

/* struct ifreq * of <net/if.h> */
#define SIOCGIFFLAGS 0x8913
#define SIOCGIFADDR 0x8915
#define SIOCGIFBRDADDR 0x8919
#define SIOCGIFNETMASK 0x891b
#define SIOCGIFMTU 0x8921
#define SIOCGIFHWADDR 0x8927
#define SIOCGIFINDEX 0x8933

struct winsize {
    unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

int ioctl(int fd, unsigned long request, ...);

#ifdef __cplusplus
}
#endif

#endif
