/* getentropy(), which newlib's arc4random() is seeded from. */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "lib/random.h"

enum { GETENTROPY_MAX = 256 }; /* POSIX.1-2024 */

int getentropy(void *buf, size_t len)
{
    if (len > GETENTROPY_MAX) {
        errno = EIO;
        return -1;
    }
    random_bytes(buf, len);
    return 0;
}
