/* How an image ends: the last console line, then the machine stops. */
#ifndef LIB_IMAGE_END_H
#define LIB_IMAGE_END_H

enum {
    EXIT_BAD_OPTION = 2, /* the command line holds a value that can't be used */
    EXIT_CRASH = 70,     /* a crash block was printed (sysexits.h calls it EX_SOFTWARE) */
};

/*
 * What is to be done before the program's own end, when it called exit() or _exit() or returned from main: not after a crash or a bad
 * command line. One function; NULL: nothing.
 */
void image_set_farewell(void (*fn)(void));
void image_farewell(void);

/*
 * Print `exit: n` on a line of its own and stop the machine with that status. As with a process, only the
 * low eight bits of status count. Flushes nothing: that is exit()'s work. From anywhere.
 */
_Noreturn void image_end(int status);

#endif
