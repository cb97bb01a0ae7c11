/*
 * Terminals (POSIX.1-2017), as far as programs ask for them: the console has no modes to change, so tcgetattr() and
 * tcsetattr() give ENOTTY for everything.
 */
#ifndef RINGLET_SYS_TERMIOS_H
#define RINGLET_SYS_TERMIOS_H

typedef unsigned char cc_t;
typedef unsigned int speed_t;
typedef unsigned int tcflag_t;

#define NCCS 20
#define VEOF 4
#define VMIN 6
#define VTIME 5

struct termios {
    tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
    cc_t c_cc[NCCS];
    speed_t c_ispeed, c_ospeed;
};

#define ICANON 0x0002
#define ECHO 0x0008
#define ECHONL 0x0040
#define ISIG 0x0001
#define IEXTEN 0x8000

#define TCSANOW 0
#define TCSADRAIN 1
#define TCSAFLUSH 2

int tcgetattr(int fd, struct termios *modes);
int tcsetattr(int fd, int when, const struct termios *modes);

#endif
