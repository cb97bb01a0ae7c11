#include "apps/lua/socket.h"

#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TYPE_NAME "ringlet.socket"

enum { BACKLOG = 128, DATAGRAM_MAX = 65536 };

struct lua_socket {
    int fd; /* -1: closed */
    int type;
};

/* ---- results ---- */

static int failed_with(lua_State *L, const char *text)
{
    lua_pushnil(L);
    lua_pushstring(L, text);
    return 2;
}

static const char *error_text(void)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS)
        return "timeout";
    return errno == ECONNRESET || errno == EPIPE ? "closed" : strerror(errno);
}

static int failed(lua_State *L)
{
    return failed_with(L, error_text());
}

static int succeeded(lua_State *L)
{
    lua_pushinteger(L, 1);
    return 1;
}

static int result(lua_State *L, int value)
{
    return value < 0 ? failed(L) : succeeded(L);
}

static struct lua_socket *to_socket(lua_State *L)
{
    struct lua_socket *s = luaL_checkudata(L, 1, TYPE_NAME);

    luaL_argcheck(L, s->fd >= 0, 1, "the socket is closed");
    return s;
}

static struct lua_socket *push_socket(lua_State *L, int fd, int type)
{
    struct lua_socket *s = lua_newuserdatauv(L, sizeof *s, 0);

    *s = (struct lua_socket){.fd = fd, .type = type};
    luaL_setmetatable(L, TYPE_NAME);
    return s;
}

/* ---- addresses ---- */

/* The addresses of host and port, arguments number `at` and the next. NULL: nil and a message were pushed. */
static struct addrinfo *resolve(lua_State *L, int at, int type, int flags)
{
    const char *host = luaL_checkstring(L, at);
    const lua_Integer port = luaL_checkinteger(L, at + 1);
    const struct addrinfo hints = {.ai_socktype = type, .ai_flags = flags | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[8];

    luaL_argcheck(L, port >= 0 && port <= 65535, at + 1, "a port is 0 to 65535");
    snprintf(service, sizeof service, "%d", (int)port);
    const int err = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, service, &hints, &found);

    if (err == 0)
        return found;
    failed_with(L, gai_strerror(err));
    return NULL;
}

static int push_address(lua_State *L, const struct sockaddr *addr, socklen_t len)
{
    char host[NI_MAXHOST], service[NI_MAXSERV];

    if (getnameinfo(addr, len, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return failed_with(L, "no address");
    lua_pushstring(L, host);
    lua_pushinteger(L, (lua_Integer)strtol(service, NULL, 10));
    return 2;
}

static int name_of(lua_State *L, int (*ask)(int, struct sockaddr *, socklen_t *))
{
    const struct lua_socket *s = to_socket(L);
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;

    if (ask(s->fd, (struct sockaddr *)&addr, &len))
        return failed(L);
    return push_address(L, (struct sockaddr *)&addr, len);
}

static int sock_getsockname(lua_State *L)
{
    return name_of(L, getsockname);
}

static int sock_getpeername(lua_State *L)
{
    return name_of(L, getpeername);
}

/* ---- options ---- */

static int set_timeout(int fd, lua_Number seconds)
{
    struct timeval tv = {0}; /* zero: for ever */

    if (seconds >= 0) {
        tv.tv_sec = (time_t)seconds;
        tv.tv_usec = (suseconds_t)((seconds - floor(seconds)) * 1e6);
        if (tv.tv_sec == 0 && tv.tv_usec == 0)
            tv.tv_usec = 1; /* "do not wait" */
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv))
        return -1;
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
}

static int sock_settimeout(lua_State *L)
{
    const struct lua_socket *s = to_socket(L);

    return result(L, set_timeout(s->fd, luaL_optnumber(L, 2, -1)));
}

static int sock_setoption(lua_State *L)
{
    static const char *const names[] = {"tcp-nodelay", "keepalive", "reuseaddr", "broadcast", NULL};
    static const struct {
        int level, name;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY},
                   {SOL_SOCKET, SO_KEEPALIVE},
                   {SOL_SOCKET, SO_REUSEADDR},
                   {SOL_SOCKET, SO_BROADCAST}};
    const struct lua_socket *s = to_socket(L);
    const int which = luaL_checkoption(L, 2, NULL, names);
    const int value = lua_toboolean(L, 3);

    return result(
        L, setsockopt(s->fd, options[which].level, options[which].name, &value, sizeof value));
}

static int sock_getfd(lua_State *L)
{
    lua_pushinteger(L, to_socket(L)->fd);
    return 1;
}

/* ---- life ---- */

static int sock_close(lua_State *L)
{
    struct lua_socket *s = luaL_checkudata(L, 1, TYPE_NAME);

    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    return succeeded(L);
}

static int sock_tostring_method(lua_State *L)
{
    const struct lua_socket *s = luaL_checkudata(L, 1, TYPE_NAME);

    lua_pushfstring(L, "%s: %d", s->type == SOCK_STREAM ? "tcp" : "udp", s->fd);
    return 1;
}

static int sock_shutdown(lua_State *L)
{
    static const char *const names[] = {"receive", "send", "both", NULL};

    return result(L, shutdown(to_socket(L)->fd, luaL_checkoption(L, 2, "both", names)));
}

static int sock_bind(lua_State *L)
{
    const int backlog = (int)luaL_optinteger(L, 3, BACKLOG), on = 1;
    struct addrinfo *found = resolve(L, 1, SOCK_STREAM, AI_PASSIVE);

    if (!found)
        return 2;
    const int fd = socket(found->ai_family, SOCK_STREAM, 0);
    int err = fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);

    if (!err)
        err = bind(fd, found->ai_addr, found->ai_addrlen);
    if (!err)
        err = listen(fd, backlog);
    freeaddrinfo(found);
    if (!err) {
        push_socket(L, fd, SOCK_STREAM);
        return 1;
    }
    const int results = failed(L);

    if (fd >= 0)
        close(fd);
    return results;
}

static int sock_accept(lua_State *L)
{
    const int fd = accept(to_socket(L)->fd, NULL, NULL);

    if (fd < 0)
        return failed(L);
    push_socket(L, fd, SOCK_STREAM);
    return 1;
}

/* A socket connected to the first address that answers, or -1. */
static int connect_any(const struct addrinfo *list, lua_Number timeout)
{
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        const int fd = socket(a->ai_family, SOCK_STREAM, 0);

        if (fd < 0)
            continue;
        if (set_timeout(fd, timeout) == 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        const int err = errno;

        close(fd);
        errno = err;
    }
    return -1;
}

static int sock_connect(lua_State *L)
{
    const lua_Number timeout = luaL_optnumber(L, 3, -1);
    struct addrinfo *found = resolve(L, 1, SOCK_STREAM, 0);

    if (!found)
        return 2;
    const int fd = connect_any(found, timeout);

    freeaddrinfo(found);
    if (fd < 0)
        return failed(L);
    push_socket(L, fd, SOCK_STREAM);
    return 1;
}

/* ---- bytes ---- */

static int sock_send(lua_State *L)
{
    const struct lua_socket *s = to_socket(L);
    size_t len;
    const char *data = luaL_checklstring(L, 2, &len);
    lua_Integer from = luaL_optinteger(L, 3, 1), to = luaL_optinteger(L, 4, -1);

    from = from < 0 ? (lua_Integer)len + from + 1 : from;
    to = to < 0 ? (lua_Integer)len + to + 1 : to;
    from = from < 1 ? 1 : from;
    to = to > (lua_Integer)len ? (lua_Integer)len : to;
    lua_Integer at = from - 1;

    while (at < to) {
        const ssize_t sent = send(s->fd, data + at, (size_t)(to - at), MSG_NOSIGNAL);

        if (sent < 0) {
            failed(L);
            lua_pushinteger(L, at); /* the last byte that went out */
            return 3;
        }
        at += sent;
    }
    lua_pushinteger(L, to);
    return 1;
}

/* nil, why, and what was received until then. */
static int receive_ended(lua_State *L, luaL_Buffer *b, ssize_t got)
{
    const char *why = got == 0 ? "closed" : error_text();

    luaL_pushresult(b);
    lua_pushnil(L);
    lua_pushstring(L, why);
    lua_rotate(L, -3, 2);
    return 3;
}

static int receive_bytes(lua_State *L, int fd, size_t wanted)
{
    luaL_Buffer b;
    size_t have = 0;

    luaL_buffinit(L, &b);
    while (have < wanted) {
        const size_t room = wanted - have < LUAL_BUFFERSIZE ? wanted - have : LUAL_BUFFERSIZE;
        const ssize_t got = recv(fd, luaL_prepbuffsize(&b, room), room, 0);

        if (got <= 0)
            return receive_ended(L, &b, got);
        luaL_addsize(&b, (size_t)got);
        have += (size_t)got;
    }
    luaL_pushresult(&b);
    return 1;
}

static int receive_all(lua_State *L, int fd)
{
    luaL_Buffer b;
    ssize_t got;

    luaL_buffinit(L, &b);
    while ((got = recv(fd, luaL_prepbuffer(&b), LUAL_BUFFERSIZE, 0)) > 0)
        luaL_addsize(&b, (size_t)got);
    if (got < 0)
        return receive_ended(L, &b, got);
    luaL_pushresult(&b);
    return 1;
}

/* Up to a line feed, which is left out, as are carriage returns. The rest stays in the socket: we look before we take. */
static int receive_line(lua_State *L, int fd)
{
    luaL_Buffer b;

    luaL_buffinit(L, &b);
    for (;;) {
        char piece[256];
        const ssize_t seen = recv(fd, piece, sizeof piece, MSG_PEEK);

        if (seen <= 0)
            return receive_ended(L, &b, seen);
        const char *end = memchr(piece, '\n', (size_t)seen);
        const size_t take = end ? (size_t)(end - piece) + 1 : (size_t)seen;

        recv(fd, piece, take, 0);
        for (size_t i = 0; i < take; i++) {
            if (piece[i] != '\r' && piece[i] != '\n')
                luaL_addchar(&b, piece[i]);
        }
        if (end) {
            luaL_pushresult(&b);
            return 1;
        }
    }
}

static int sock_receive(lua_State *L)
{
    const struct lua_socket *s = to_socket(L);

    if (lua_isnumber(L, 2)) {
        const lua_Integer wanted = lua_tointeger(L, 2);

        luaL_argcheck(L, wanted >= 0, 2, "a count is not negative");
        return receive_bytes(L, s->fd, (size_t)wanted);
    }
    const char *pattern = luaL_optstring(L, 2, "*l");

    pattern += pattern[0] == '*';
    if (pattern[0] == 'a')
        return receive_all(L, s->fd);
    luaL_argcheck(L, pattern[0] == 'l', 2, "*l, *a or a number");
    return receive_line(L, s->fd);
}

/* ---- datagrams ---- */

static int sock_udp(lua_State *L)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (fd < 0)
        return failed(L);
    push_socket(L, fd, SOCK_DGRAM);
    return 1;
}

static int with_address(lua_State *L, int flags,
                        int (*call)(int, const struct sockaddr *, socklen_t))
{
    const struct lua_socket *s = to_socket(L);
    struct addrinfo *found = resolve(L, 2, s->type, flags);

    if (!found)
        return 2;
    const int err = call(s->fd, found->ai_addr, found->ai_addrlen);

    freeaddrinfo(found);
    return result(L, err);
}

static int sock_setsockname(lua_State *L)
{
    return with_address(L, AI_PASSIVE, bind);
}

static int sock_setpeername(lua_State *L)
{
    return with_address(L, 0, connect);
}

static int sock_sendto(lua_State *L)
{
    const struct lua_socket *s = to_socket(L);
    size_t len;
    const char *data = luaL_checklstring(L, 2, &len);
    struct addrinfo *found = resolve(L, 3, SOCK_DGRAM, 0);

    if (!found)
        return 2;
    const ssize_t sent = sendto(s->fd, data, len, 0, found->ai_addr, found->ai_addrlen);

    freeaddrinfo(found);
    return result(L, sent < 0 ? -1 : 0);
}

static int sock_receivefrom(lua_State *L)
{
    const struct lua_socket *s = to_socket(L);
    const lua_Integer wanted = luaL_optinteger(L, 2, DATAGRAM_MAX);
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    luaL_Buffer b;

    luaL_argcheck(L, wanted > 0 && wanted <= DATAGRAM_MAX, 2, "1 to 65536 bytes");
    char *room = luaL_buffinitsize(L, &b, (size_t)wanted);
    const ssize_t got = recvfrom(s->fd, room, (size_t)wanted, 0, (struct sockaddr *)&from, &len);

    luaL_pushresultsize(&b, got < 0 ? 0 : (size_t)got);
    if (got < 0)
        return failed(L);
    return 1 + push_address(L, (struct sockaddr *)&from, len);
}

/* ---- time, and the library ---- */

static int sock_gettime(lua_State *L)
{
    struct timeval now;

    gettimeofday(&now, NULL);
    lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)now.tv_usec / 1e6);
    return 1;
}

static int sock_sleep(lua_State *L)
{
    const lua_Number seconds = luaL_checknumber(L, 1);

    if (seconds > 0) {
        const struct timespec wait = {.tv_sec = (time_t)seconds,
                                      .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};

        nanosleep(&wait, NULL);
    }
    return 0;
}

static const luaL_Reg methods[] = {
    {"accept", sock_accept},
    {"bind", sock_setsockname},
    {"close", sock_close},
    {"getfd", sock_getfd},
    {"getpeername", sock_getpeername},
    {"getsockname", sock_getsockname},
    {"receive", sock_receive},
    {"receivefrom", sock_receivefrom},
    {"send", sock_send},
    {"sendto", sock_sendto},
    {"setoption", sock_setoption},
    {"setpeername", sock_setpeername},
    {"setsockname", sock_setsockname},
    {"settimeout", sock_settimeout},
    {"shutdown", sock_shutdown},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"bind", sock_bind},   {"connect", sock_connect}, {"gettime", sock_gettime},
    {"sleep", sock_sleep}, {"udp", sock_udp},         {NULL, NULL},
};

int luaopen_socket(lua_State *L)
{
    luaL_newmetatable(L, TYPE_NAME);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, sock_close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, sock_tostring_method);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
