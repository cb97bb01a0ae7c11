/* cat [-c] FILE…: print files, or with -c only how many bytes each has, read to the end. */
#include <stdio.h>
#include <string.h>

static int show(const char *path, int count_only)
{
    static char block[65536];
    FILE *f = fopen(path, "r");
    unsigned long total = 0;
    size_t got;

    if (!f) {
        perror(path);
        return 1;
    }
    while ((got = fread(block, 1, sizeof block, f)) > 0) {
        total += got;
        if (!count_only)
            fwrite(block, 1, got, stdout);
    }
    if (count_only)
        printf("%lu\n", total);
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    const int count_only = argc > 1 && strcmp(argv[1], "-c") == 0;
    int status = 0;

    for (int i = 1 + count_only; i < argc; i++)
        status |= show(argv[i], count_only);
    return status;
}
