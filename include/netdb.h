/* Names of hosts, services and protocols, as POSIX.1-2017 <netdb.h> and RFC 3493 §6 have them. Numbers are Linux's. */
#ifndef RINGLET_NETDB_H
#define RINGLET_NETDB_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

struct addrinfo {
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    socklen_t ai_addrlen;
    struct sockaddr *ai_addr;
    char *ai_canonname; /* in the first, when AI_CANONNAME was asked for */
    struct addrinfo *ai_next;
};

#define AI_PASSIVE 0x0001
#define AI_CANONNAME 0x0002
#define AI_NUMERICHOST 0x0004
#define AI_V4MAPPED 0x0008
#define AI_ALL 0x0010
#define AI_ADDRCONFIG 0x0020
#define AI_NUMERICSERV 0x0400

#define EAI_BADFLAGS (-1)
#define EAI_NONAME (-2)
#define EAI_AGAIN (-3)
#define EAI_FAIL (-4)
#define EAI_NODATA (-5)
#define EAI_FAMILY (-6)
#define EAI_SOCKTYPE (-7)
#define EAI_SERVICE (-8)
#define EAI_ADDRFAMILY (-9)
#define EAI_MEMORY (-10)
#define EAI_SYSTEM (-11)
#define EAI_OVERFLOW (-12)

#define NI_MAXHOST 1025
#define NI_MAXSERV 32
#define NI_NUMERICHOST 1
#define NI_NUMERICSERV 2
#define NI_NOFQDN 4
#define NI_NAMEREQD 8
#define NI_DGRAM 16
#define NI_NUMERICSCOPE 256

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result);
void freeaddrinfo(struct addrinfo *list);
const char *gai_strerror(int error);
int getnameinfo(const struct sockaddr *addr, socklen_t len, char *host, socklen_t host_size,
                char *service, socklen_t service_size, int flags);

/* The older interface. What the first four return is valid until the same thread calls one of them again. */
struct hostent {
    char *h_name;
    char **h_aliases;
    int h_addrtype;
    int h_length;
    char **h_addr_list;
#define h_addr h_addr_list[0]
};

struct servent {
    char *s_name;
    char **s_aliases;
    int s_port; /* network byte order */
    char *s_proto;
};

struct protoent {
    char *p_name;
    char **p_aliases;
    int p_proto;
};

struct netent {
    char *n_name;
    char **n_aliases;
    int n_addrtype;
    uint32_t n_net;
};

#define HOST_NOT_FOUND 1
#define TRY_AGAIN 2
#define NO_RECOVERY 3
#define NO_DATA 4
#define NO_ADDRESS NO_DATA
#define NETDB_INTERNAL (-1)
#define NETDB_SUCCESS 0

int *__h_errno_location(void);
#define h_errno (*__h_errno_location())

struct hostent *gethostbyname(const char *name);
struct hostent *gethostbyname2(const char *name, int family);
struct hostent *gethostbyaddr(const void *addr, socklen_t len, int family);
int gethostbyname_r(const char *name, struct hostent *entry, char *room, size_t room_size,
                    struct hostent **result, int *error);
const char *hstrerror(int error);
void herror(const char *prefix);

struct servent *getservbyname(const char *name, const char *protocol);
struct servent *getservbyport(int port, const char *protocol); /* network byte order */
void setservent(int stay_open);
struct servent *getservent(void);
void endservent(void);

struct protoent *getprotobyname(const char *name);
struct protoent *getprotobynumber(int protocol);
void setprotoent(int stay_open);
struct protoent *getprotoent(void);
void endprotoent(void);

#ifdef __cplusplus
}
#endif

#endif
