/* What netperf's configure makes of its netperf_version.h.in. */
#define NETPERF_VERSION "2.7.1"
