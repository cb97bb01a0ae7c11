# iperf3's library, as apps/iperf3/port.mk lists and compiles it.
PORT_OBJ.iperf = $(IPERF3_LIB:%=$(B)/obj/iperf3/%.o) $(B)/obj/apps/iperf3/listener.c.o
PORT_LINK.iperf = $(PORT_LINK.iperf3) -Wl,--wrap=iperf_errexit
$(B)/obj/apps/iperf/iperf3.c.o: private LAYER := -fno-lto $(WITH_LWIP) -isystem $(DEPS)/iperf3/src -DHAVE_STDATOMIC_H=1
$(B)/obj/apps/iperf/iperf3.c.o: $(DEPS)/iperf3.stamp
