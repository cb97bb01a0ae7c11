/* getline() and getdelim() under their POSIX names: newlib has them under others. */
#include <stdio.h>

ssize_t getline(char **line, size_t *room, FILE *f)
{
    return __getline(line, room, f);
}

ssize_t getdelim(char **line, size_t *room, int end, FILE *f)
{
    return __getdelim(line, room, end, f);
}
