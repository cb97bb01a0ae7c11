# netperf's server. Which CPU counter, firewall and so on there is, is said by choosing files: none.
$(eval $(call port,netserver,netperf,$(addprefix src/,netserver.c netlib.c netsh.c nettest_bsd.c nettest_dlpi.c nettest_unix.c nettest_xti.c \
  nettest_sctp.c nettest_sdp.c nettest_omni.c net_uuid.c dscp.c netcpu_none.c netsys_none.c netsec_none.c netfirewall_none.c netrt_none.c \
  netdrv_none.c netslot_none.c),-DHAVE_CONFIG_H -fcommon -U__linux__ -U__linux -Ulinux -Dmain=netserver_main))
