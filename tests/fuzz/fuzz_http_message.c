/* Any bytes as a request's head: a path that is understood stays below the root, and ranges stay inside the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "apps/http/http_date.h"
#include "apps/http/message.h"
#include "lib/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(struct span_text sent)
{
    char path[MESSAGE_PATH_MAX];

    if (message_path(sent, path))
        return;
    const size_t len = strlen(path);

    ASSERT(path[0] == '/' && len < MESSAGE_PATH_MAX);
    ASSERT(!strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
    ASSERT(len < 3 || strcmp(path + len - 3, "/..") != 0);
    ASSERT(strcmp(path + len - 2, "/.") != 0 || len < 2);
}

static void check_range(struct span_text field, uint64_t file_size)
{
    uint64_t first, last;

    if (message_range(field, file_size, &first, &last) == RANGE_ONE)
        ASSERT(first <= last && last < file_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message m;
    char *copy = malloc(size + 1); /* of just that size: a read too far is seen */

    memcpy(copy, data, size);
    const int status = message_parse(copy, size, &m);

    if (status == 200) {
        ASSERT(m.head_len <= size && m.head_len <= MESSAGE_HEAD_MAX &&
               m.body_len <= MESSAGE_BODY_MAX);
        check_path(m.path);
        if (m.range.at) {
            check_range(m.range, 0);
            check_range(m.range, 1);
            check_range(m.range, 1000);
        }
        if (m.if_none_match.at)
            (void)message_etag_listed(m.if_none_match, "\"a-b-c\"", true);
    }
    ASSERT(status != 0 || size < MESSAGE_HEAD_MAX);
    ASSERT(http_date_parse(copy, size) >= -1);
    free(copy);
    return 0;
}
