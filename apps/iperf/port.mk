# iperf3's library, as apps/iperf3/port.mk lists and compiles it, and what mends it there.
PORT_OBJ.iperf = $(IPERF3_LIB:%=$(B)/obj/iperf3/%.o) $(patsubst %,$(B)/obj/apps/iperf3/%.c.o,listener watch)
PORT_LINK.iperf = $(PORT_LINK.iperf3) -Wl,--wrap=iperf_errexit
$(B)/obj/apps/iperf/iperf3.c.o: private LAYER = -fno-lto $(IPERF3_SEEN)
$(B)/obj/apps/iperf/iperf3.c.o: $(DEPS)/iperf3.stamp
