/* The image's own header: glibc's struct tcp_info ends early. */
#include "include/netinet/tcp.h"
