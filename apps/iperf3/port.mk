# ESnet's iperf3: its library, and its main() under another name, because ours (start.c) comes first.
IPERF3_LIB := $(addprefix src/,cjson.c dscp.c iperf_api.c iperf_auth.c iperf_client_api.c iperf_error.c iperf_locale.c iperf_pthread.c \
  iperf_sctp.c iperf_server_api.c iperf_tcp.c iperf_time.c iperf_udp.c iperf_util.c net.c tcp_info.c timer.c units.c)
$(eval $(call port,iperf3,iperf3,$(IPERF3_LIB) src/main.c,-DHAVE_CONFIG_H -Dmain=iperf3_main))
PORT_LINK.iperf3 := -Wl,--wrap=netannounce -Wl,--wrap=close -Wl,--wrap=bind
