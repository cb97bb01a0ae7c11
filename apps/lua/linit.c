/* Which libraries a Lua program finds: all standard ones, and our sockets. */
#include <lauxlib.h>
#include <lualib.h>

#include "apps/lua/socket.h"

static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},          {LUA_LOADLIBNAME, luaopen_package},
    {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
    {LUA_IOLIBNAME, luaopen_io},        {LUA_OSLIBNAME, luaopen_os},
    {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
    {LUA_UTF8LIBNAME, luaopen_utf8},    {LUA_DBLIBNAME, luaopen_debug},
    {"socket", luaopen_socket},         {NULL, NULL},
};

LUALIB_API void luaL_openlibs(lua_State *L)
{
    for (const luaL_Reg *library = libraries; library->func; library++) {
        luaL_requiref(L, library->name, library->func, 1);
        lua_pop(L, 1);
    }
}
