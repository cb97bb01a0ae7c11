/*
 * Lua in an image: what follows "--" on the command line are the interpreter's arguments.
 *
 *   qemu-system-x86_64 … -kernel lua.elf -initrd scripts.tar -append '… -- /server.lua'
 *
 * The console gives no input, so there is no prompt to fall back to: without a script the usage is printed.
 */
#include <stdio.h>

int lua_main(int argc, char **argv);

int main(int argc, char **argv)
{
    if (argc <= 1) {
        fprintf(stderr, "usage: ringlet-run --initrd scripts.tar lua.elf -- [-e STATEMENT] [SCRIPT "
                        "[ARGUMENT...]]\n"
                        "What follows -- on the image's command line is lua's.\n");
        return 2;
    }
    return lua_main(argc, argv);
}
