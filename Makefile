# Ringlet's one entry point; `make help` lists the targets. Everything made is under build/.

APP       ?= iperf
DEPS      ?= build#            another tree's build/ may be named, to share its fetched and built sources
LTO       ?= 1
PYTHON    ?= /usr/bin/python3# Debian's own: pytest and scapy come as its packages
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG     ?= clang
B         := build
LWIP      := $(DEPS)/lwip
NEWLIB    := $(DEPS)/newlib
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
OUR_SRC     := $(BOOT_SRC) $(ARCH_SRC) $(LIB_SRC) $(HOOKS_SRC) $(DRIVERS_SRC) $(NET_SRC)
FAKE_SRC    := $(sort $(filter-out tests/fake/test_%,$(wildcard tests/fake/*.c tests/host/support/*.c)))
TEST_SRC    := $(sort $(wildcard tests/host/test_*.c tests/fake/test_*.c))
FUZZ_SRC    := $(sort $(wildcard tests/fuzz/fuzz_*.c))

# Written out, so that they are known before lwIP is there.
LWIP_SRC_LIST := \
  $(addprefix src/core/,altcp altcp_alloc altcp_tcp def dns inet_chksum init ip mem memp netif pbuf \
    raw stats sys tcp tcp_in tcp_out timeouts udp) \
  $(addprefix src/core/ipv4/,acd autoip dhcp etharp icmp igmp ip4 ip4_addr ip4_frag) \
  $(addprefix src/core/ipv6/,dhcp6 ethip6 icmp6 inet6 ip6 ip6_addr ip6_frag mld6 nd6) \
  src/netif/ethernet contrib/addons/tcp_isn/tcp_isn src/netif/ppp/polarssl/md5

# ---- Flags ---------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Wmissing-prototypes -Werror
# No path of this folder reaches an object, and no random number: builds elsewhere give the same bytes.
SAME := -ffile-prefix-map=$(abspath $(DEPS))=build -ffile-prefix-map=$(DEPS)=build \
        -ffile-prefix-map=$(CURDIR)=.
LTO_FLAGS := $(if $(filter 1,$(LTO)),-flto,-fno-lto)
GCC_INCLUDE = $(eval GCC_INCLUDE := $(shell $(CC) -print-file-name=include))$(GCC_INCLUDE)

# -fbuiltin after -ffreestanding: an 8-byte memcpy is to be a move, not a call. No red zone, because an
# interrupt would write over it. Frame pointers, because the crash block walks them.
MACHINE := -std=gnu11 -O2 -g -ffreestanding -fbuiltin -mno-red-zone -fno-pic -fno-pie -mcmodel=small \
           -fno-stack-protector -fcf-protection=none -ffunction-sections -fdata-sections \
           -fno-omit-frame-pointer -fno-common -fno-asynchronous-unwind-tables $(SAME)
SYSTEM   = -nostdinc -isystem $(NEWLIB)/include -isystem $(GCC_INCLUDE)
WITH_LWIP := -Inet -Inet/lwip_port -isystem $(LWIP)/src/include -isystem $(LWIP)/contrib/addons
KERNEL   = $(MACHINE) -I. -Iarch/x86_64/include

# What differs by layer. Interrupts run code of arch/, which therefore never touches vector registers.
layer_flags = $(LTO_FLAGS)
$(B)/obj/arch/%:       private LAYER := -mgeneral-regs-only $(LTO_FLAGS)
$(B)/obj/lib/newlib/%: private LAYER := -fno-lto
$(B)/obj/lib/%:        private LAYER := $(LTO_FLAGS)
$(B)/obj/drivers/%:    private LAYER := -O3 $(LTO_FLAGS)
$(B)/obj/net/%:        private LAYER := -O3 $(WITH_LWIP) $(LTO_FLAGS)
$(B)/obj/boot/%:       private LAYER := $(WITH_LWIP) $(LTO_FLAGS)
$(B)/obj/apps/%:       private LAYER := $(WITH_LWIP) -fno-lto
LWIP_WARN := -Wall -Wno-address

LINK := $(CC) -nostdlib -static -no-pie -Wl,-T,linker.ld -Wl,--gc-sections -Wl,--build-id=none \
        -Wl,-z,max-page-size=4096 -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments

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

deps: $(LWIP).stamp $(NEWLIB)/stamp ## fetch lwIP and newlib, build newlib; LWIP_SRC= NEWLIB_SRC= name a folder or archive

# ---- The image -----------------------------------------------------------------------------------

all: $(APPS:%=$(B)/%.elf) ## build/<app>.elf for every app (the default)

# Objects are made again when the flags change, and only then.
$(B)/flags: FORCE | $(call setup,build)
	@mkdir -p $(B); flags="$$($(CC) --version | head -1) $(KERNEL) $(WARN) $(LWIP_WARN) $(LTO_FLAGS)"; \
	  [ "$$(cat $@ 2>/dev/null)" = "$$flags" ] || echo "$$flags" >$@

KERNEL_OBJ := $(OUR_SRC:%=$(B)/obj/%.o)
LWIP_OBJ   := $(LWIP_SRC_LIST:%=$(B)/obj/lwip/%.o)

$(B)/obj/%.c.o: %.c $(B)/flags $(NEWLIB)/stamp $(LWIP).stamp
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(KERNEL) $(LAYER) $(SYSTEM) $(WARN) -frandom-seed=$< -MMD -MP -c $< -o $@

$(B)/obj/%.S.o: %.S $(B)/flags
	@mkdir -p $(@D)
	@echo "  AS    $<"
	@$(CC) $(KERNEL) $(WARN) -MMD -MP -c $< -o $@

$(B)/obj/lwip/%.o: $(B)/flags $(NEWLIB)/stamp $(LWIP).stamp net/lwipopts.h net/lwip_port/arch/cc.h
	@mkdir -p $(@D)
	@echo "  CC    lwip/$*.c"
	@$(CC) $(KERNEL) -O3 $(WITH_LWIP) $(LTO_FLAGS) $(SYSTEM) $(LWIP_WARN) -frandom-seed=$* \
	  -MMD -MP -c $(LWIP)/$*.c -o $@

# Everything but the app, optimised across files once: each app then links in a moment.
$(B)/kernel.o: $(KERNEL_OBJ) $(LWIP_OBJ)
	@echo "  LTO   $@"
	@$(CC) $(MACHINE) $(LTO_FLAGS)$(if $(filter 1,$(LTO)),=auto -flinker-output=nolto-rel) -frandom-seed=kernel \
	  -nostdlib -r $(sort $^) -o $@

# Linked twice: the second time with the names of the first. They come last, so nothing shifts.
app_obj = $(patsubst %,$(B)/obj/%.o,$(sort $(wildcard apps/$(1)/*.c)))
.SECONDEXPANSION:
$(B)/%.debug: $$(call app_obj,$$*) $(B)/kernel.o linker.ld tools/mksyms.py
	@echo "  LINK  $@"
	@mkdir -p $(B)/link
	@link() { $(CC) $(MACHINE) -c $(B)/link/$*.$$1.S -o $(B)/link/$*.$$1.o; \
	  $(LINK) $(filter %.o,$^) $(B)/link/$*.$$1.o -L$(NEWLIB)/lib \
	    -Wl,--start-group -lc -lm -lgcc -Wl,--end-group $(LDFLAGS_EXTRA) -o $$2; }; \
	$(PYTHON) tools/mksyms.py </dev/null >$(B)/link/$*.1.S; \
	link 1 $(B)/link/$*.elf; \
	nm -n $(B)/link/$*.elf | $(PYTHON) tools/mksyms.py >$(B)/link/$*.2.S; \
	link 2 $@

$(B)/%.elf: $(B)/%.debug tools/check_image.py
	@objcopy --strip-all $< $@
	@$(PYTHON) tools/check_image.py $@
	@echo "  IMAGE $@ ($$(stat -c %s $@) bytes)"

run: $(B)/$(APP).elf ## boot APP=iperf under QEMU, its ports forwarded from 127.0.0.1; Ctrl-C ends it
	@tools/run_user.sh $(B)/$(APP).elf $(ARGS)

iso: $(B)/$(APP).iso ## build/<app>.iso for APP=iperf, a GRUB rescue image; ARGS= is its command line

$(B)/%.iso: $(B)/%.elf tools/mkiso.sh | $(call setup,test)
	@tools/mkiso.sh $< $@ $(ARGS)

docs: docs/options.md ## write docs/options.md from the table of options

docs/options.md: $(B)/host-gcc/options_md
	$(B)/host-gcc/options_md >$@.new && mv $@.new $@

# ---- Host tests ----------------------------------------------------------------------------------

# The same sources, for the host: -Itests/host/include gives them the host's port headers.
HOST := -std=gnu11 -g -O1 -fno-omit-frame-pointer -D_GNU_SOURCE -Itests/host/include -I. $(WITH_LWIP) $(SAME)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
HOST_SRC := $(LIB_SRC) $(DRIVERS_SRC) $(NET_SRC) $(FAKE_SRC)
TEST_NAMES := $(basename $(notdir $(TEST_SRC)))
FUZZ_NAMES := $(basename $(notdir $(FUZZ_SRC)))
vpath test_%.c tests/host tests/fake

# $(call host_rules,folder,compiler,flags): objects, the archive of all sources, and the programs linked from it.
define host_rules
$(B)/$(1)/obj/%.c.o: %.c $(LWIP).stamp | $(call setup,test)
	@mkdir -p $$(@D)
	@echo "  CC    $$< ($(1))"
	@$(2) $(HOST) $(3) $(WARN) -MMD -MP -c $$< -o $$@

$(B)/$(1)/obj/lwip/%.o: $(LWIP).stamp net/lwipopts.h net/lwip_port/arch/cc.h | $(call setup,test)
	@mkdir -p $$(@D)
	@$(2) $(HOST) $(3) -w -MMD -MP -c $(LWIP)/$$*.c -o $$@

$(B)/$(1)/libringlet.a: $(HOST_SRC:%=$(B)/$(1)/obj/%.o) $(LWIP_SRC_LIST:%=$(B)/$(1)/obj/lwip/%.o)
	@rm -f $$@ && ar crD $$@ $$(sort $$^)

$(B)/$(1)/test_%: $(B)/$(1)/obj/tests/host/test_%.c.o $(B)/$(1)/libringlet.a
	@echo "  LINK  $$@"
	@$(2) $(3) $$^ -lcmocka -lm -o $$@
endef
$(eval $(call host_rules,host-gcc,$(CC),$(SANITIZE)))
$(eval $(call host_rules,host-clang,$(CLANG),$(SANITIZE)))
$(eval $(call host_rules,cover,$(CC),--coverage))
$(eval $(call host_rules,fuzz,$(CLANG),$(SANITIZE) -fsanitize=fuzzer-no-link))

include_deps = $(shell find $(B) -name '*.d' -path '*/obj/*' 2>/dev/null)
-include $(include_deps)

clean: ## remove what was built; fetched sources and newlib stay
	rm -rf $(filter-out $(B)/dl $(B)/lwip $(B)/lwip.stamp $(B)/newlib% $(B)/setup,$(wildcard $(B)/*))

distclean: ## remove build/
	rm -rf $(B)

help: ## this list
	@sed -nE 's/^([a-z][a-z-]*):.*## (.*)/\1|\2/p' Makefile | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'

FORCE:
.PHONY: all deps run iso docs clean distclean help FORCE
