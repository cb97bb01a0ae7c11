/*
 * Runs a fuzzer over its corpus once, so that every input that ever mattered is a test.
 *
 * replay FOLDER…: each file of each folder is given to LLVMFuzzerTestOneInput(), and the empty input too. Prints
 * how many. A finding ends the program by way of the sanitizers.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives the file's bytes, malloc'ed to their exact size so that one read too many is seen. */
static uint8_t *read_whole(FILE *file, size_t *size)
{
    if (fseek(file, 0, SEEK_END) != 0)
        return NULL;
    const long end = ftell(file);
    if (end < 0)
        return NULL;
    rewind(file);
    *size = (size_t)end;
    uint8_t *data = malloc(*size ? *size : 1);
    if (data && fread(data, 1, *size, file) != *size) {
        free(data);
        return NULL;
    }
    return data;
}

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    size_t size = 0;
    uint8_t *data = read_whole(file, &size);
    fclose(file);
    if (!data)
        return -1;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

/* Returns the number of inputs, or -1 when the folder or a file in it cannot be read. */
static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return -1;
    int count = 0;
    const struct dirent *entry;
    while (count >= 0 && (entry = readdir(dir)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count = replay_file(path) == 0 ? count + 1 : -1;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    const uint8_t nothing = 0;
    LLVMFuzzerTestOneInput(&nothing, 0);
    for (int i = 1; i < argc; i++) {
        const int count = replay_folder(argv[i]);
        if (count <= 0) {
            fprintf(stderr, "%s: no corpus, or it cannot be read\n", argv[i]);
            return 1;
        }
        printf("%s: %d inputs\n", argv[i], count);
    }
    return 0;
}
