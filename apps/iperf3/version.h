/* What iperf3's configure makes of its version.h.in. */
#define IPERF_VERSION "3.20"
