/* What is done before an image ends by itself. A file of its own: hosts have no machine to stop. */
#include "lib/image_end.h"

#include <stddef.h>

static void (*farewell)(void);

void image_set_farewell(void (*fn)(void))
{
    farewell = fn;
}

void image_farewell(void)
{
    void (*const fn)(void) = farewell;

    farewell = NULL; /* whoever ends within it doesn't come back here */
    if (fn)
        fn();
}
