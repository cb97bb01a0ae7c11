# What makes images outside this tree.
PREFIX ?= /usr/local
SDK = sdk/install.sh
SDK_ARGS = $(PREFIX) $(B) $(NEWLIB) $(LWIP)

install: $(B)/kernel.o ## ringlet-cc, ringlet-run, libraries, headers and man pages into PREFIX=/usr/local (DESTDIR=)
	@$(SDK) install $(SDK_ARGS)

uninstall: ## what install put there
	@$(SDK) uninstall $(SDK_ARGS)

.PHONY: install uninstall
