# picohttpparser, as Debian keeps it inside a Perl module's source; and the status page and HTTP's words of the iperf image.
$(eval $(call port,http,picohttpparser,picohttpparser/picohttpparser.c,))
PORT_OBJ.http += $(patsubst %,$(B)/obj/apps/iperf/%.c.o,status_page http_reason)
$(B)/obj/apps/http/%: private LAYER := -O2 -fno-lto $(WITH_LWIP) -isystem $(DEPS)/picohttpparser/picohttpparser
$(patsubst %,$(B)/obj/%.o,$(wildcard apps/http/*.c)): $(DEPS)/picohttpparser.stamp
