/*
 * Sockets for Lua programs, under the names that LuaSocket made common:
 *
 *   socket.bind(host, port [, backlog])     a listening TCP socket; host "*" is any
 *   socket.connect(host, port [, timeout])  a connected TCP socket
 *   socket.udp()                            an unbound UDP socket
 *   socket.gettime()  socket.sleep(s)       seconds
 *
 *   s:accept()  s:send(data [, i [, j]])  s:receive(["*l" | "*a" | bytes])  s:shutdown([how])
 *   s:sendto(data, host, port)  s:receivefrom([bytes])  s:setsockname(host, port)  s:setpeername(host, port)
 *   s:settimeout(seconds | nil)  s:setoption(name, value)  s:getsockname()  s:getpeername()  s:getfd()  s:close()
 *
 * A call that fails gives nil and a message: "timeout", "closed", or the error's text; receive() gives what it has got as
 * third value. Sockets are closed when they are collected.
 */
#ifndef APPS_LUA_SOCKET_H
#define APPS_LUA_SOCKET_H

#include <lua.h>

int luaopen_socket(lua_State *L);

#endif
