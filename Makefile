# Ringlet's one entry point; `make help` lists the targets. Everything made is under build/ (B=).

APP       ?= iperf
DEPS      ?= build#            another tree's build/ may be named, to share its fetched and built sources
LTO       ?= 1
PYTHON    ?= /usr/bin/python3# Debian's own: pytest and scapy come as its packages
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG     ?= clang
B         ?= build
LWIP      := $(DEPS)/lwip
NEWLIB    := $(DEPS)/newlib
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules
SHELL     := /bin/bash
.SHELLFLAGS := -ec
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

# ---- Sources, a list per layer -------------------------------------------------------------------

APPS        := $(sort $(patsubst apps/%/,%,$(dir $(wildcard apps/*/*.c))))
BOOT_SRC    := $(sort $(wildcard boot/*.S boot/*.c))
ARCH_SRC    := $(sort $(wildcard arch/x86_64/*.S arch/x86_64/*.c))
LIB_SRC     := $(sort $(wildcard lib/*.c))
HOOKS_SRC   := $(sort $(wildcard lib/newlib/*.c))
DRIVERS_SRC := $(sort $(wildcard drivers/*/*.c))
NET_SRC     := $(sort $(wildcard net/*.c net/lwip_port/*.c net/lwip_port/arch/*.c))
POSIX_SRC   := $(sort $(wildcard net/posix/*.c))# names that the host's C library has, too
OUR_SRC     := $(BOOT_SRC) $(ARCH_SRC) $(LIB_SRC) $(HOOKS_SRC) $(DRIVERS_SRC) $(NET_SRC) $(POSIX_SRC)
FAKE_SRC    := $(sort $(filter-out tests/fake/test_%,$(wildcard tests/fake/*.c tests/host/support/*.c)))
TEST_SRC    := $(sort $(wildcard tests/host/test_*.c tests/fake/test_*.c))
FUZZ_SRC    := $(sort $(wildcard tests/fuzz/fuzz_*.c))

# Written out, so that they are known before lwIP is there.
LWIP_FILES := \
  $(addprefix src/core/,altcp altcp_alloc altcp_tcp def dns inet_chksum init ip mem memp netif pbuf \
    raw stats sys tcp tcp_in tcp_out timeouts udp) \
  $(addprefix src/core/ipv4/,acd autoip dhcp etharp icmp igmp ip4 ip4_addr ip4_frag) \
  $(addprefix src/core/ipv6/,dhcp6 ethip6 icmp6 inet6 ip6 ip6_addr ip6_frag mld6 nd6) \
  src/netif/ethernet

# What newlib has in its sources and leaves out of the library for a bare machine.
NEWLIB_MORE := posix/regcomp posix/regexec posix/regerror posix/regfree posix/collcmp unix/basename unix/dirname

# ---- Flags ---------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Wmissing-prototypes -Werror
# No path of this folder reaches an object, and no random number: builds elsewhere give the same bytes.
SAME := -ffile-prefix-map=$(abspath $(DEPS))=build -ffile-prefix-map=$(DEPS)=build \
        -ffile-prefix-map=$(CURDIR)=.
LTO_FLAGS := $(if $(filter 1,$(LTO)),-flto,-fno-lto)
GCC_INCLUDE = $(eval GCC_INCLUDE := $(shell $(CC) -print-file-name=include))$(GCC_INCLUDE)

# -fbuiltin after -ffreestanding: an 8-byte memcpy is to be a move, not a call. No red zone, because an
# interrupt would write over it. Frame pointers, because the crash block walks them. Stack clash protection, because a
# large frame must meet the guard page, not step over it.
MACHINE := -std=gnu11 -O2 -g -ffreestanding -fbuiltin -mno-red-zone -fno-pic -fno-pie -mcmodel=small \
           -fno-stack-protector -fstack-clash-protection -fcf-protection=none -ffunction-sections -fdata-sections \
           -fno-omit-frame-pointer -fno-common -fno-asynchronous-unwind-tables $(SAME)
SYSTEM   = -nostdinc -isystem include -isystem $(NEWLIB)/include -isystem $(GCC_INCLUDE)
WITH_LWIP := -Inet -Inet/lwip_port -isystem $(LWIP)/src/include
KERNEL   = $(MACHINE) -I. -Iarch/x86_64/include -Iinclude

# What differs by layer. Nothing below the C library touches vector registers, so that interrupts need not save
# them; a short loop or a small copy is quicker without them, too. C library and apps may.
CORE := -mgeneral-regs-only $(LTO_FLAGS)
$(B)/obj/boot/%:       private LAYER := $(CORE) $(WITH_LWIP)
$(B)/obj/arch/%:       private LAYER := $(CORE)
$(B)/obj/lib/%:        private LAYER := $(CORE)
$(B)/obj/lib/newlib/%: private LAYER := -fno-lto
$(B)/obj/drivers/%:    private LAYER := $(CORE) -O3
$(B)/obj/net/%:        private LAYER := $(CORE) -O3 $(WITH_LWIP)
$(B)/obj/lwip/%:       private LAYER := $(CORE) -O3 $(WITH_LWIP)
$(B)/obj/apps/%:       private LAYER := -fno-lto $(WITH_LWIP)
$(B)/obj/tests/%:      private LAYER := -fno-lto $(WITH_LWIP)
LWIP_WARN := -Wall -Wno-address
LWIP_GIVEN_AWAY := $(foreach f,tcp_write tcp_output tcp_split_unsent_seg tcp_rexmit_rto tcp_rexmit_rto_commit \
                     tcp_rexmit_fast,-D$(f)=lwip_$(f))

LINK := $(CC) -nostdlib -static -no-pie -Wl,-T,linker.ld -Wl,--gc-sections -Wl,--build-id=none \
        -Wl,-z,max-page-size=4096 -Wl,-z,noexecstack

# ---- Set-up and third-party sources --------------------------------------------------------------

# $(call setup,group): a stamp that the packages of tools/setup.sh's group are there.
setup = $(B)/setup/$(1)

$(B)/setup/%: tools/setup.sh
	@tools/setup.sh $* && mkdir -p $(@D) && touch $@

$(LWIP).stamp: tools/fetch_deps.sh tools/deps.lock $(if $(LWIP_SRC),FORCE) | $(call setup,build)
	@tools/fetch_deps.sh lwip $(LWIP) $(DEPS)/dl $(LWIP_SRC)

$(NEWLIB)-src.stamp: tools/fetch_deps.sh tools/deps.lock $(if $(NEWLIB_SRC),FORCE) | $(call setup,build)
	@tools/fetch_deps.sh newlib $(NEWLIB)-src $(DEPS)/dl $(NEWLIB_SRC)

$(NEWLIB)/stamp: tools/build_newlib.sh $(NEWLIB)-src.stamp
	@CC=$(CC) tools/build_newlib.sh $(NEWLIB)-src $(NEWLIB)

# Programs of other people, in images and, for tests, on the host: their sources, unmodified.
PORTS := iperf3 netperf lua picohttpparser
$(PORTS:%=$(DEPS)/%.stamp): $(DEPS)/%.stamp: tools/fetch_deps.sh tools/deps.lock $(if $(strip $(IPERF3_SRC) $(NETPERF_SRC) $(LUA_SRC) $(PICOHTTPPARSER_SRC)),FORCE) | $(call setup,build)
	@tools/fetch_deps.sh $* $(DEPS)/$* $(DEPS)/dl $($(shell echo $* | tr a-z A-Z)_SRC)

deps: $(LWIP).stamp $(NEWLIB)/stamp $(PORTS:%=$(DEPS)/%.stamp) ## fetch all sources, build newlib; LWIP_SRC= NEWLIB_SRC= IPERF3_SRC= NETPERF_SRC= LUA_SRC= PICOHTTPPARSER_SRC= name a folder or archive

# ---- The image -----------------------------------------------------------------------------------

# The boot tests' own images: tests/boot/apps/<app>/ becomes build/test/<app>.elf.
TEST_APPS := $(sort $(patsubst tests/boot/apps/%/,%,$(dir $(wildcard tests/boot/apps/*/*.c))))

all: $(APPS:%=$(B)/%.elf) ## build/<app>.elf for every app (the default)

# Objects are made again when the flags change, and only then.
$(B)/flags: FORCE | $(call setup,build)
	@mkdir -p $(B); flags="$$($(CC) --version | head -1) $(filter-out -ffile-prefix-map=%,$(KERNEL)) $(WARN) $(LWIP_WARN) $(LWIP_GIVEN_AWAY) $(CORE)"; \
	  [ "$$(cat $@ 2>/dev/null)" = "$$flags" ] || echo "$$flags" >$@

MORE_OBJ   := $(NEWLIB_MORE:%=$(B)/obj/newlib/%.o)
KERNEL_OBJ := $(OUR_SRC:%=$(B)/obj/%.o)
LWIP_OBJ   := $(LWIP_FILES:%=$(B)/obj/lwip/%.o)

# lwIP's headers include these, and what a system header includes is no dependency to -MMD.
LWIP_SETTINGS := net/lwipopts.h net/lwip_port/arch/cc.h

$(B)/obj/%.c.o: %.c $(B)/flags $(NEWLIB)/stamp $(LWIP).stamp $(LWIP_SETTINGS)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(KERNEL) $(LAYER) $(SYSTEM) $(WARN) -frandom-seed=$< -MMD -MP -c $< -o $@

$(B)/obj/%.S.o: %.S $(B)/flags
	@mkdir -p $(@D)
	@echo "  AS    $<"
	@$(CC) $(KERNEL) $(WARN) -MMD -MP -c $< -o $@

# The sending half of TCP is ours (net/tcp_send.h): lwIP's own gets other names, so that all callers find it.
$(B)/obj/lwip/src/core/tcp_out.o: private LAYER += $(LWIP_GIVEN_AWAY)

$(B)/obj/lwip/%.o: $(B)/flags $(NEWLIB)/stamp $(LWIP).stamp $(LWIP_SETTINGS)
	@mkdir -p $(@D)
	@echo "  CC    lwip/$*.c"
	@$(CC) $(KERNEL) $(LAYER) $(SYSTEM) $(LWIP_WARN) -frandom-seed=$* \
	  -MMD -MP -c $(LWIP)/$*.c -o $@

$(B)/obj/newlib/%.o: $(B)/flags $(NEWLIB)/stamp
	@mkdir -p $(@D)
	@echo "  CC    newlib/$*.c"
	@$(CC) $(KERNEL) -fno-lto -I$(NEWLIB)-src/newlib/libc/posix $(SYSTEM) -w -frandom-seed=$* \
	  -MMD -MP -c $(NEWLIB)-src/newlib/libc/$*.c -o $@

# Everything but the app, optimised across files once: each app then links in a moment. Programs call it through the
# entries that tools/mkentries.py makes: there preemption is put off. What we compile of newlib is like a program: it can be
# preempted, and a program may have a function of the same name: what it defines is weak. What it uses is not, or ld would leave
# NULL where nobody else wants the same function of the C library.
BRACKETED := $(LIB_SRC) $(HOOKS_SRC) $(POSIX_SRC) net/net.c arch/x86_64/clock.c
ASSEMBLY  := $(filter %.S,$(OUR_SRC))

$(B)/inner.o: $(KERNEL_OBJ) $(LWIP_OBJ)
	@echo "  LTO   $@"
	@$(CC) $(MACHINE) $(LTO_FLAGS)$(if $(filter 1,$(LTO)),=auto -flinker-output=nolto-rel) -frandom-seed=kernel \
	  -nostdlib -r $(sort $^) -o $@.new && mv $@.new $@

$(B)/kernel.o: $(B)/inner.o $(MORE_OBJ) tools/mkentries.py
	@$(PYTHON) tools/mkentries.py --inner $< --bracket $(BRACKETED:%=$(B)/obj/%.o) --skip $(ASSEMBLY:%=$(B)/obj/%.o) \
	  --locked $(LWIP_OBJ) --sources $(BRACKETED) -o $(B)/entries
	@objcopy --redefine-syms=$(B)/entries.syms $< $(B)/renamed.o
	@$(CC) $(MACHINE) -fno-lto -c $(B)/entries.S -o $(B)/entries.o
	@$(CC) -fno-lto -nostdlib -r $(MORE_OBJ) -o $(B)/more.o && nm -gj --defined-only $(B)/more.o >$(B)/more.names
	@objcopy --weaken-symbols=$(B)/more.names $(B)/more.o
	@$(CC) -fno-lto -nostdlib -r $(B)/renamed.o $(B)/entries.o $(B)/more.o -o $@.new && mv $@.new $@

# boot/init.c calls image_network weakly: where the link gives it no value, lwIP and the drivers fall away.
NO_NETWORK := hello test/cat test/crash test/files test/libc test/modules test/sleep
network = $(if $(filter $(1),$(NO_NETWORK)),,-Wl,--defsym=image_network=boot_network -Wl,-u,boot_network)

# $(call port,app,dependency,files below it,flags): other people's files in apps/<app>, in their own flags, without warnings: they
# are not ours to mend. They find our config.h in apps/<app>, and each other.
define port
PORT_OBJ.$(1) := $(3:%=$(B)/obj/$(2)/%.o)
$(B)/obj/$(2)/%.o: $(B)/flags $(NEWLIB)/stamp $(DEPS)/$(2).stamp apps/$(1)/port.mk $(wildcard apps/$(1)/*.h)
	@mkdir -p $$(@D)
	@echo "  CC    $(2)/$$*"
	@$$(CC) $$(KERNEL) -fno-lto -Iapps/$(1) -I$(DEPS)/$(2)/src $(4) $$(SYSTEM) -w -frandom-seed=$$* -MMD -MP -c $(DEPS)/$(2)/$$* -o $$@
endef
-include $(wildcard apps/*/port.mk)

# Linked twice: the second time with the names of the first. They come last, so nothing shifts.
app_obj = $(strip $(patsubst %,$(B)/obj/%.o,$(sort $(wildcard apps/$(1)/*.c $(1:test/%=tests/boot/apps/%)/*.c))) $(PORT_OBJ.$(1)))
.SECONDEXPANSION:
$(B)/%.debug: $$(or $$(call app_obj,$$*),$$(error apps/$$* has no C file, so there is no such app)) $(B)/kernel.o linker.ld tools/mksyms.py
	@echo "  LINK  $@"
	@mkdir -p $(@D) $(dir $(B)/link/$*)
	@link() { $(CC) $(MACHINE) -c $(B)/link/$*.$$1.S -o $(B)/link/$*.$$1.o; \
	  $(LINK) $(call network,$*) $(PORT_LINK.$*) $(filter %.o,$^) $(B)/link/$*.$$1.o -L$(NEWLIB)/lib \
	    -Wl,--start-group -lc -lm -lgcc -Wl,--end-group $(LDFLAGS_EXTRA) -o $$2; }; \
	$(PYTHON) tools/mksyms.py </dev/null >$(B)/link/$*.1.S; \
	link 1 $(B)/link/$*.elf; \
	nm -n $(B)/link/$*.elf | $(PYTHON) tools/mksyms.py >$(B)/link/$*.2.S; \
	link 2 $@

$(B)/%.elf: $(B)/%.debug tools/check_image.py
	@objcopy --strip-all $< $@
	@$(PYTHON) tools/check_image.py $@
	@echo "  IMAGE $@ ($$(stat -c %s $@) bytes)"

run: $(B)/$(APP).elf ## boot APP=iperf under QEMU (ARGS= MEM=64 ACCEL=tcg QEMU_ARGS=), ports forwarded from 127.0.0.1; Ctrl-C ends it
	@tools/run_user.sh $(B)/$(APP).elf $(ARGS)

iso: $(B)/$(APP).iso ## build/<app>.iso for APP=iperf, a GRUB rescue image; ARGS= is its command line

$(B)/%.iso: $(B)/%.elf $(B)/link/%.args tools/mkiso.sh | $(call setup,iso)
	@tools/mkiso.sh $< $@ $(ARGS)

# A disc holds its command line: another one makes another disc.
$(B)/link/%.args: FORCE
	@mkdir -p $(@D); [ "$$(cat $@ 2>/dev/null)" = '$(ARGS)' ] || echo '$(ARGS)' >$@

docs: docs/options.md ## write docs/options.md from the table of options

docs/options.md: $(B)/host-gcc/options_md FORCE
	@$< >$(B)/options.md && { cmp -s $(B)/options.md $@ || cp $(B)/options.md $@; }

include sdk/sdk.mk

# ---- Host tests ----------------------------------------------------------------------------------

# The same sources, for the host: tests/host/include comes first, with its own version of some port headers.
PICO     := $(DEPS)/picohttpparser/picohttpparser
HOST     := -std=gnu11 -g -fno-omit-frame-pointer -D_GNU_SOURCE -DRINGLET_LWIP_ASSERT \
            -Itests/host/include -Iarch/x86_64/include -I. $(WITH_LWIP) -isystem $(PICO)
SANITIZE := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
# What an app computes without a connection is tested on the host, too.
APP_PURE := $(addprefix apps/iperf/,burst.c status_page.c http_page.c http_reason.c http_request.c iperf2_wire.c payload.c result.c udp_stats.c) \
            $(addprefix apps/http/,message.c http_date.c)
HOST_SRC := $(LIB_SRC) $(DRIVERS_SRC) $(NET_SRC) $(APP_PURE) $(FAKE_SRC) arch/x86_64/switch.S arch/x86_64/copy.S
TESTS    := $(basename $(notdir $(TEST_SRC)))
FUZZERS  := $(basename $(notdir $(FUZZ_SRC)))

# $(call host_rules,folder,compiler,flags): objects, an archive of all sources, and the programs linked with it.
define host_rules
$(B)/$(1)/obj/%.c.o: %.c $(B)/flags $(LWIP).stamp $(LWIP_SETTINGS) | $(call setup,test)
	@mkdir -p $$(@D)
	@echo "  CC    $$< ($(1))"
	@$(2) $(HOST) $(3) $(WARN) -MMD -MP -c $$< -o $$@

$(B)/$(1)/obj/%.S.o: %.S | $(call setup,test)
	@mkdir -p $$(@D)
	@$(2) $(HOST) -c $$< -o $$@

$(B)/$(1)/obj/%.S.o: %.S $(B)/flags | $(call setup,test)
	@mkdir -p $$(@D)
	@$(2) -c $$< -o $$@

$(B)/$(1)/obj/lwip/%.o: $(B)/flags $(LWIP).stamp $(LWIP_SETTINGS) | $(call setup,test)
	@mkdir -p $$(@D)
	@$(2) $(HOST) $(3) $$(if $$(filter %/tcp_out,$$*),$(LWIP_GIVEN_AWAY)) -fno-sanitize=shift -w -MMD -MP -c $(LWIP)/$$*.c -o $$@

$(B)/$(1)/obj/apps/http/message.c.o: $(DEPS)/picohttpparser.stamp

# A version like HTTP/1.99999999999 overflows the parser's int, and -fsanitize would end the test for it. Both compilers wrap
# around, and message.c judges whatever number comes out.
$(B)/$(1)/obj/picohttpparser.o: $(DEPS)/picohttpparser.stamp
	@mkdir -p $$(@D)
	@$(2) $(HOST) $(3) -fno-sanitize=signed-integer-overflow -w -c $(PICO)/picohttpparser.c -o $$@

$(B)/$(1)/libringlet.a: $(B)/$(1)/obj/picohttpparser.o $(HOST_SRC:%=$(B)/$(1)/obj/%.o) $(LWIP_FILES:%=$(B)/$(1)/obj/lwip/%.o)
	@rm -f $$@ && ar qcDs $$@ $$(sort $$^)

$(B)/$(1)/test_%: $$$$(call host_obj,$(1),test_$$$$*) $(B)/$(1)/libringlet.a
	@echo "  LINK  $$@"
	@$(2) $(3) $$^ -lcmocka -lm -o $$@
endef

$(B)/host-gcc/options_md: $(B)/host-gcc/obj/tests/host/options_md.c.o $(B)/host-gcc/libringlet.a
	@$(CC) $(SANITIZE) $^ -o $@

# The object of the program named $(2).
host_obj = $(patsubst %,$(B)/$(1)/obj/%.o,$(filter %/$(2).c,$(TEST_SRC) $(FUZZ_SRC)))

$(eval $(call host_rules,host-gcc,$(CC),$(SANITIZE)))
$(eval $(call host_rules,host-clang,$(CLANG),$(SANITIZE)))
$(eval $(call host_rules,cover,$(CC),-O0 --coverage))
$(eval $(call host_rules,fuzz,$(CLANG),$(SANITIZE) -fsanitize=fuzzer-no-link))

# A fuzzer is a test too: gcc's build runs its corpus once; clang's searches.
$(B)/host-gcc/fuzz_%: $$(call host_obj,host-gcc,fuzz_$$*) $(B)/host-gcc/obj/tests/fuzz/replay.c.o $(B)/host-gcc/libringlet.a
	@echo "  LINK  $@"
	@$(CC) $(SANITIZE) $^ -lm -o $@

$(B)/fuzz/fuzz_%: $$(call host_obj,fuzz,fuzz_$$*) $(B)/fuzz/libringlet.a
	@echo "  LINK  $@"
	@$(CLANG) $(SANITIZE) -fsanitize=fuzzer $^ -lm -o $@

HOST_PROGRAMS := $(TESTS:%=$(B)/host-gcc/%) $(TESTS:%=$(B)/host-clang/%) $(FUZZERS:%=$(B)/host-gcc/%)
HOST_RUNS     := $(TESTS:%=$(B)/host-gcc/%) $(TESTS:%=$(B)/host-clang/%) \
                 $(foreach f,$(FUZZERS),"$(B)/host-gcc/$f tests/fuzz/corpus/$(f:fuzz_%=%)")
RUN_TESTS     := RINGLET_BUILD=$(abspath $(B)) RINGLET_DEPS=$(abspath $(DEPS)) $(PYTHON) tools/run_tests.py --junit $(B)/results
TEST_NEEDS    := $(call setup,test) all $(TEST_APPS:%=$(B)/test/%.elf) $(B)/iperf.iso $(B)/insn_plugin.so

test: $(TEST_NEEDS) $(HOST_PROGRAMS) ## everything: host tests, tests of the build, boot tests
	@$(RUN_TESTS) $(HOST_RUNS) --pytest tests/build tests/boot

test-host: $(HOST_PROGRAMS) ## modules on the host, gcc and clang, ASan + UBSan; fuzz corpora
	@$(RUN_TESTS) $(HOST_RUNS)

sim: $(B)/host-gcc/test_sim ## the whole stack over two fake devices and a bad wire, eight runs from SEED=n on
	@$(if $(SEED),RINGLET_SEED=$(SEED)) $<

test-build: $(TEST_NEEDS) ## tests of the build itself: set-up, pins, reproducibility
	@$(RUN_TESTS) --pytest tests/build

test-boot: $(TEST_NEEDS) ## images under QEMU, with real clients
	@$(RUN_TESTS) --pytest tests/boot

soak: $(TEST_NEEDS) ## a hundred bulk runs, each followed by a ping (an hour)
	@$(PYTHON) tests/boot/soak.py $(ARGS)

# The plugin's interface has a version, and QEMU 9 refuses the first one.
QEMU_API = $(shell qemu-system-x86_64 --version | awk '/version/ { print $$4 < 9 ? 1 : 2; exit }')

$(B)/insn_plugin.so: tests/bench/insn_plugin.c tests/bench/qemu_api.h | $(call setup,test)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) -std=gnu11 -O2 -fPIC -shared $(WARN) -I. -DQEMU_API=$(QEMU_API) $< -o $@

bench-quick: $(B)/insn_plugin.so $(B)/iperf.elf | $(call setup,test) ## guest instructions per MiB, packet and request; kicks, interrupts (ARGS=)
	@RINGLET_BUILD=$(abspath $(B)) $(PYTHON) tests/bench/count.py --plugin $< $(ARGS)

bench: $(B)/insn_plugin.so $(B)/iperf.elf | $(call setup,bench) ## Ringlet beside a Linux guest, in turn; writes build/bench.json (ARGS=)
	@RINGLET_BUILD=$(abspath $(B)) $(PYTHON) tests/bench/bench.py --plugin $< --linux $(DEPS)/bench --json $(B)/bench.json $(ARGS)

TIME ?= 60
fuzz: $(if $(TARGET),$(B)/fuzz/fuzz_$(TARGET),$(FUZZERS:%=$(B)/fuzz/%)) ## search for crashes: TARGET=<module> TIME=60 seconds
	@for f in $^; do name=$${f##*/fuzz_}; mkdir -p $(B)/fuzz/corpus/$$name; \
	  $$f -max_total_time=$(TIME) -artifact_prefix=$(B)/fuzz/ $(B)/fuzz/corpus/$$name $$(ls -d tests/fuzz/corpus/$$name); done

cover: $(TESTS:%=$(B)/cover/%) ## line and branch coverage of lib/ drivers/ net/ by the host tests
	@find $(B)/cover -name '*.gcda' -delete
	@$(RUN_TESTS) $^
	@$(PYTHON) tools/cover.py $(B)/cover/obj lib drivers net

# ---- Static checks -------------------------------------------------------------------------------

OUR_DIRS  := apps arch boot drivers include lib net tests tools
FORMATTED := $(sort $(shell find $(OUR_DIRS) -name '*.[ch]' 2>/dev/null))
CHECKED   := $(LIB_SRC) $(DRIVERS_SRC) $(NET_SRC)
HEADERS   := $(filter %.h,$(FORMATTED))

lint: lint-format lint-layers lint-lies lint-shell lint-tidy lint-cppcheck lint-analyzer ## format, layers, static analysis

# Versions differ in corner cases; Debian 12's settles the layout, another one is not asked.
lint-format: | $(call setup,lint)
	@echo "  LINT  clang-format"
	@if clang-format --version | grep -q 'version 14[.]'; then clang-format --dry-run -Werror $(FORMATTED); \
	  else echo "        not version 14: layout not checked"; fi

lint-layers: | $(call setup,build)
	@echo "  LINT  layers"
	@$(PYTHON) tools/check_layers.py

lint-lies: | $(call setup,build)
	@echo "  LINT  lies, conformance"
	@$(PYTHON) tools/check_lies.py
	@$(PYTHON) tools/check_conformance.py

lint-shell: | $(call setup,lint)
	@echo "  LINT  shellcheck"
	@shellcheck tools/*.sh .ci/run

# Each file in the host's flags; clang 14 or later, whatever clang-tidy this release has.
lint-tidy: $(CHECKED:%=$(B)/lint/%.tidy)

$(B)/lint/%.tidy: % $(HEADERS) .clang-tidy $(LWIP).stamp | $(call setup,lint)
	@mkdir -p $(@D)
	@echo "  TIDY  $<"
	@clang-tidy --quiet $< -- $(HOST) 2>$@.err || { cat $@.err; exit 1; }
	@touch $@

lint-cppcheck: $(LWIP).stamp | $(call setup,lint)
	@echo "  LINT  cppcheck"
	@cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr --enable=warning,performance,portability \
	  --suppress=missingIncludeSystem --suppressions-list=tools/cppcheck.txt -Itests/host/include -I. -Inet \
	  -D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 $(CHECKED)

# gcc 14 takes a field's address for a use of the field; -Wmaybe-uninitialized and the sanitizers see the real ones.
ANALYZE := -fanalyzer -Wno-analyzer-use-of-uninitialized-value

lint-analyzer: $(CHECKED:%=$(B)/lint/%.analyzer)

$(B)/lint/%.analyzer: % $(HEADERS) $(LWIP).stamp | $(call setup,build)
	@mkdir -p $(@D)
	@echo "  ANLZ  $<"
	@$(CC) $(HOST) -O1 $(ANALYZE) -Werror -c $< -o /dev/null
	@touch $@

ci: lint test ## exactly what CI runs: lint, then test
ifneq ($(filter ci,$(MAKECMDGOALS)),)
$(HOST_PROGRAMS): | lint# so that the tests' last line is the last line
test: | lint
endif

# --------------------------------------------------------------------------------------------------

include_deps = $(shell find $(B) -name '*.d' -path '*/obj/*' 2>/dev/null)
-include $(include_deps)

clean: ## remove what was built; fetched sources and newlib stay
	rm -rf $(filter-out $(B)/dl $(B)/lwip $(B)/lwip.stamp $(B)/newlib% $(B)/setup,$(wildcard $(B)/*))

distclean: ## remove build/
	rm -rf $(B)

help: ## this list
	@sed -nE 's/^([a-z][a-z-]*):.*## (.*)/\1|\2/p' Makefile sdk/sdk.mk | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'

FORCE:
.PHONY: all deps run iso docs test test-host sim test-build test-boot soak bench bench-quick fuzz cover ci clean distclean help \
  lint lint-format lint-layers lint-lies lint-shell lint-tidy lint-cppcheck lint-analyzer FORCE
