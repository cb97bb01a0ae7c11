# Lua 5.4: its library and its stand-alone interpreter. linit.c, which names the libraries to open, is ours, as its authors intend.
$(eval $(call port,lua,lua,$(addprefix src/,lapi.c lauxlib.c lbaselib.c lcode.c lcorolib.c lctype.c ldblib.c ldebug.c ldo.c ldump.c lfunc.c \
  lgc.c liolib.c llex.c lmathlib.c lmem.c loadlib.c lobject.c lopcodes.c loslib.c lparser.c lstate.c lstring.c lstrlib.c ltable.c ltablib.c \
  ltm.c lua.c lundump.c lutf8lib.c lvm.c lzio.c),-DLUA_COMPAT_5_3 -U__linux__ -Dmain=lua_main))
$(B)/obj/apps/lua/%: private LAYER := -fno-lto -isystem $(DEPS)/lua/src
$(B)/obj/apps/lua/linit.c.o $(B)/obj/apps/lua/socket.c.o: $(DEPS)/lua.stamp
