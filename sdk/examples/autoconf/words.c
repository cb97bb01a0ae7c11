/* Counts the words of its arguments, and says what configure found. */
#include <config.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int words = 0;

    for (int i = 1; i < argc; i++) {
        for (char *word = strtok(argv[i], " "); word; word = strtok(NULL, " "))
            words++;
    }
    printf("words %d long %d", words, SIZEOF_LONG);
#ifdef HAVE_GETADDRINFO
    printf(" getaddrinfo");
#endif
#ifdef HAVE_SYS_INOTIFY_H
    printf(" inotify");
#endif
#ifdef HAVE_FORK_TO_NOWHERE
    printf(" nowhere");
#endif
    printf("\n");
    return words;
}
