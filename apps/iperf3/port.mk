# ESnet's iperf3: its library, and its main() under another name, because ours (start.c) comes first. What its source leaves
# to be wished is mended at link time: listener.c, watch.c. A client's JSON is read on a small stack, so it may not nest deeply.
IPERF3_LIB := $(addprefix src/,cjson.c dscp.c iperf_api.c iperf_auth.c iperf_client_api.c iperf_error.c iperf_locale.c iperf_pthread.c \
  iperf_sctp.c iperf_server_api.c iperf_tcp.c iperf_time.c iperf_udp.c iperf_util.c net.c tcp_info.c timer.c units.c)
IPERF3_SEEN := -DHAVE_CONFIG_H -isystem apps/iperf3 -isystem $(DEPS)/iperf3/src
$(eval $(call port,iperf3,iperf3,$(IPERF3_LIB) src/main.c,-DHAVE_CONFIG_H -DCJSON_NESTING_LIMIT=32 -Dmain=iperf3_main))
, := ,
PORT_LINK.iperf3 := $(addprefix -Wl$(,)--wrap=,netannounce close bind select mkstemp iperf_run_server iperf_new_stream)
$(B)/obj/apps/iperf3/%: private LAYER := -fno-lto $(IPERF3_SEEN)
$(B)/obj/apps/iperf3/watch.c.o: $(DEPS)/iperf3.stamp
