# assay: see README.md. `make demo` and `make check` install what they need; plain `make` does not.
#
#   make                 the program, the libraries, man pages, completion -> build/release/
#   make demo            install packages, build, report on the bundled run -> report.html
#   make check           install packages, run every test
#   make bench           our readers beside their peers, ratios in one run
#   make coverage        lines and branches that tests run, by folder (tools/coverage says which do not)
#   make fuzz            every fuzz target, FUZZ_SECONDS=120 each
#   make faults          every allocation and system call, failing or the last; small files that ask for much; ALL= for some of each
#   make lint            layering, formatting, naming
#   make dist            portable tarball, wheel and .deb for x86_64 and aarch64 -> build/dist/
#   make install         PREFIX=/usr/local DESTDIR=
#   make SAN=address,undefined ...   the same with sanitizers, in a build folder of its own

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
PREFIX  ?= /usr/local
SAN     ?=
WERROR  ?= -Werror
V       ?= 0
Q       := $(if $(filter 0,$(V)),@)

comma   := ,
CONFIG  := $(if $(COVERAGE),coverage,$(if $(SAN),$(notdir $(CC))-$(subst $(comma),-,$(SAN)),$(if $(filter gcc,$(notdir $(CC))),release,$(notdir $(CC)))))
B       := build/$(CONFIG)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla \
           -Wundef -Wswitch-enum -Wformat=2 -Wno-format-nonliteral $(WERROR)
OPT     := $(if $(COVERAGE),-O0 -g1 --coverage -DASSAY_COVERAGE,$(if $(SAN),-O1 -g1 -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all -DASSAY_CHECKED $(if $(findstring fuzzer,$(SAN)),-DASSAY_PUMP_SHRINK=256),-O2 -g1))
# no fused multiply-add: the last digit of a figure is the same on every processor
CFLAGS  += -std=c11 -ffp-contract=off -D_DEFAULT_SOURCE $(OPT) $(WARN) -fPIC -fvisibility=hidden -pthread -MMD -MP -Iinclude -Isrc -I$(B)/gen
LDFLAGS += $(if $(COVERAGE),--coverage) $(if $(SAN),-fsanitize=$(SAN)) -pthread
LIBS    := -lisal -lzstd -lsqlite3 -lcrypto -lm

# Hot readers are compiled once for each instruction set; base/cpu.h picks at run time.
ARCH         := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
ISAS_x86_64  := avx2 avx512
ISAS_aarch64 := neon
ISAS         := scalar $(ISAS_$(ARCH))
ISA_scalar   := -DASSAY_PLAIN
ISA_neon     :=
ISA_avx2     := -mavx2 -mbmi -mbmi2 -mlzcnt -mpclmul -mpopcnt
ISA_avx512   := $(ISA_avx2) -mavx512f -mavx512bw -mavx512vl -mavx512dq
HOT          := $(wildcard src/read/*_hot.c)

LIB_SRC := $(filter-out $(HOT),$(wildcard $(addprefix src/,$(addsuffix /*.c,base names wire model vendor probe envs read resolve analyze work path find like diff write render query api))))
CMD_SRC := $(wildcard src/cmd/*.c)
HOT_OBJ  = $(foreach i,$(ISAS),$(HOT:%.c=$(1)/%.$(i).o))

LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(call HOT_OBJ,$(B))
CMD_OBJ := $(CMD_SRC:%.c=$(B)/%.o)
# Only files with tests are compiled for them. With sanitizers all are: nothing else is made there.
UNIT_SRC := $(LIB_SRC) $(filter-out src/cmd/main.c,$(CMD_SRC)) $(wildcard tests/unit/*.c)
TESTED   := $(if $(SAN),$(UNIT_SRC) $(HOT),$(shell grep -lwE 'TEST|ASSAY_TEST' $(UNIT_SRC) $(HOT)))
UNIT_OBJ := $(patsubst %.c,$(B)/unit/%.o,$(filter $(TESTED),$(UNIT_SRC))) $(patsubst %.c,$(B)/%.o,$(filter-out $(TESTED),$(UNIT_SRC))) \
            $(call HOT_OBJ,$(B)$(if $(filter $(HOT),$(TESTED)),/unit))

# Recorder libraries live in the recorded program: C library only, nothing exported but entry points,
# never unloaded. One library a vendor, its entry in src/record/<vendor>.c.
RECORDERS := $(patsubst src/record/%.c,%,$(wildcard src/record/cuda.c src/record/rocm.c))
REC_SRC   := $(filter-out $(RECORDERS:%=src/record/%.c) $(wildcard $(RECORDERS:%=src/record/%_*.c)),$(wildcard src/record/*.c src/wire/*.c src/vendor/dl.c src/names/calls.c))
REC_LIBS  := $(RECORDERS:%=$(B)/libassay_%.so)
REC_FLAGS := -fno-exceptions -fno-plt
# Room for initial-exec variables is scarce in a process that runs already, and rocprofiler-sdk
# aborts the program when a tool finds none. Descriptors take it where it is, at a few instructions an
# access, and do without where it is not; glibc before 2.40 loses vector registers then: none is used.
DESCRIPTORS := -mtls-dialect=gnu2 -mgeneral-regs-only
REC_TLS_cuda := -ftls-model=initial-exec
REC_TLS_rocm := -ftls-model=global-dynamic $(shell $(CC) $(DESCRIPTORS) -E -x c /dev/null >/dev/null 2>&1 && echo $(DESCRIPTORS))

.PHONY: all test-tools dist demo check faults coverage lint bench fuzz install uninstall clean unit docs recorders record-check abi-check abi-cupti abi-rocm abi-amdsmi
all: $(B)/assay $(B)/libassay.a $(B)/libassay.so $(B)/assay.pc $(REC_LIBS) docs

# With sanitizers everything is compiled once: the program is made of the tests' objects.
PROGRAM := $(if $(SAN),$(B)/unit/src/cmd/main.o $(filter-out $(B)/unit/tests/%,$(UNIT_OBJ)),$(CMD_OBJ) $(B)/libassay.a)
$(B)/assay: $(PROGRAM)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
	$(Q)ln -sf assay $@-mpi

$(B)/libassay.a: $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/libassay.so: $(LIB_OBJ) src/assay.map
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,libassay.so.0 -Wl,--version-script=src/assay.map -o $@ $(LIB_OBJ) $(LIBS)
	$(Q)ln -sf libassay.so $@.0

# What pkg-config says; the version is that of the header.
VERSION := $(shell sed -n 's/^.define ASSAY_VERSION "\(.*\)"/\1/p' include/assay/assay.h)
$(B)/assay.pc: tools/assay.pc.in include/assay/assay.h Makefile
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' tools/assay.pc.in > $@

define rec_rule
$(B)/rec/$(1)/%.o: %.c
	$$(call compile,$(REC_FLAGS) $(REC_TLS_$(1)))
$(B)/libassay_$(1).so: $(patsubst %.c,$(B)/rec/$(1)/%.o,$(REC_SRC) $(wildcard src/record/$(1).c src/record/$(1)_*.c))
	$$(Q)$$(CC) $$(LDFLAGS) -shared -Wl,-soname,libassay_$(1).so -Wl,-z,nodelete -Wl,-z,now -o $$@ $$^ -ldl
endef
$(foreach r,$(RECORDERS),$(eval $(call rec_rule,$(r))))
recorders: $(REC_LIBS)

$(B)/unit/run: $(UNIT_OBJ) $(B)/unit/tests/unit.o
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
unit: $(B)/unit/run

# Tests of what is not hot run once: the optimizer would take longer than they do.
$(B)/unit/%.o: CFLAGS += $(if $(SAN)$(COVERAGE),,-O1)
# What every event of a trace goes through.
FAST := $(addprefix src/,base/inflate.c base/jsonw.c base/pool.c base/proto.c base/str.c model/run.c model/tables.c read/chrome_rows.c read/times.c read/xplane_event.c)
$(foreach f,$(FAST:%.c=%.o),$(B)/$(f) $(B)/unit/$(f)): CFLAGS += $(if $(SAN),,-O3)
# What analyzes and prints runs whose spare columns may be empty (model/tables.def) cannot read them.
LEAN := $(foreach d,resolve analyze work path find like diff render,$(filter-out src/render/html%,$(wildcard src/$(d)/*.c)))
$(foreach f,$(LEAN:%.c=%.o),$(B)/$(f) $(B)/unit/$(f)): CFLAGS += -DASSAY_SPARE_HIDDEN
# With sanitizers the optimizer takes four times as long as everything else: only readers and what they stand on get it.
COOL := $(addprefix src/,analyze api cmd diff envs find like names path probe query render resolve vendor work write) tests/unit
$(foreach d,$(COOL),$(B)/$(d)/%.o $(B)/unit/$(d)/%.o): CFLAGS += $(if $(SAN),$(if $(findstring fuzzer,$(SAN)),,-O0))

define compile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(1) -c -o $@ $<
endef

define hot_rules
$(B)/%.$(1).o: %.c
	$$(call compile,$(ISA_$(1)) -DASSAY_ISA=$(1) -O3)
$(B)/unit/%.$(1).o: %.c
	$$(call compile,$(ISA_$(1)) -DASSAY_ISA=$(1) -DASSAY_TEST -O3)
endef
$(foreach i,$(ISAS),$(eval $(call hot_rules,$(i))))

$(B)/%.o: %.c
	$(call compile,)
$(B)/unit/%.o: %.c
	$(call compile,-DASSAY_TEST)

# The page of `assay report --html` is assets/, as C arrays.
$(B)/gen/assets.h: $(wildcard assets/*) tools/embed
	@mkdir -p $(@D)
	$(Q)tools/embed assets > $@.new && mv $@.new $@
$(B)/src/render/html.o $(B)/unit/src/render/html.o: $(B)/gen/assets.h

# Small programs for tests and benchmarks, linked with the library's insides.
TOOLS := $(patsubst %.c,$(B)/%,$(wildcard tests/*/*_tool.c bench/*.c))
$(TOOLS): $(B)/%: %.c $(B)/libassay.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libassay.a $(LIBS)
$(B)/tests/faults/memory_tool: LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,mmap munmap mremap syscall $(if $(SAN),malloc calloc realloc))

# Fuzz targets that take the files they are given; tests/fuzz/run builds those that make their own.
TARGETS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/*.c))
$(TARGETS): $(B)/%: %.c $(B)/tests/fuzz/replay/main.o $(B)/libassay.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter %.o %.a,$^) $(LIBS)

# All that suites build for themselves: one make before them, so that none reads what another writes.
test-tools: $(filter $(B)/tests/%,$(TOOLS)) $(TARGETS) $(B)/tests/fake/librocprofiler-sdk.so

# Man pages and completion come from the option tables of the program itself.
COMMANDS = $(shell $(B)/assay help --list)
docs: $(B)/docs.stamp
$(B)/docs.stamp: $(B)/assay
	$(Q)mkdir -p $(B)/man $(B)/completion
	$(Q)$(B)/assay help --man > $(B)/man/assay.1
	$(Q)for c in $$($(B)/assay help --list); do $(B)/assay help --man $$c > $(B)/man/assay-$$c.1 || exit 1; done
	$(Q)for s in bash zsh fish; do $(B)/assay help --completion $$s > $(B)/completion/assay.$$s || exit 1; done
	@touch $@

demo:
	$(Q)tools/install-deps run
	$(Q)$(MAKE) -s -j$$(nproc) all
	$(Q)tools/demo $(B)/assay

check:
	$(Q)tools/install-deps check
	$(Q)tests/check

ALL ?= 1
faults: all
	$(Q)python3 tests/faults/test_memory.py $(if $(ALL),--all)
	$(Q)python3 tests/faults/test_faults.py $(if $(ALL),--all)
	$(Q)python3 tests/faults/test_kills.py $(if $(ALL),--all)
	$(Q)python3 tests/faults/test_bombs.py $(if $(ALL),--all)
	$(Q)$(if $(ALL),$(MAKE) -s CC=clang SAN=address,undefined build/clang-address-undefined/assay)
	$(Q)$(if $(ALL),ASSAY=$(CURDIR)/build/clang-address-undefined/assay) python3 tests/faults/test_damage.py $(if $(ALL),--recorded --runs 3000)
	$(Q)$(if $(ALL),ASSAY=$(CURDIR)/build/clang-address-undefined/assay) python3 tests/faults/test_changes.py $(if $(ALL),--runs 6000)

# Counted while they run: the unit tests, and the suites that go through commands and recorders (but those that
# leave a program no files to write: the counts are files).
COUNTED := cases.py manual.py $(addsuffix .py,cmdline/test_cmdline env/test_env query/test_sqlite query/test_prompt ranks/test_shards \
  formats/test_matrix html/test_html diagnose/test_diagnose diagnose/test_diagnose_programs waits/test_lines only/test_only path/test_what_if $(addprefix record/test_,record rocm control keep recover hang blas host))
coverage:
	$(Q)$(MAKE) -s -j$$(nproc) COVERAGE=1 build/coverage/assay recorders unit
	$(Q)find build/coverage -name '*.gcda' -delete
	$(Q)build/coverage/unit/run >build/coverage/unit.log || grep '^not ok' build/coverage/unit.log
	$(Q)printf '%s\n' $(COUNTED) | COVERAGE=1 ASSAY=$(CURDIR)/build/coverage/assay xargs -P $$(nproc) -I{} \
	  sh -c 'python3 tests/{} >build/coverage/$$(basename {}).log 2>&1 || echo "{}: exit status $$?"'
	$(Q)tools/coverage build/coverage

# The recorder without a GPU: fake vendor libraries, programs that end in every way.
record-check: $(B)/assay $(REC_LIBS)
	$(Q)tests/record/test_record.py $(B)
	$(Q)tests/record/test_control.py $(B)
	$(Q)tests/record/test_keep.py $(B)
	$(Q)tests/record/test_safe.py $(B)
	$(Q)tests/record/test_recover.py $(B)
	$(Q)tests/record/test_writer.py $(B)
	$(Q)tests/record/test_env_beside.py $(B)
	$(Q)tests/record/test_hang.py $(B)
	$(Q)tests/record/test_blas.py $(B)
	$(Q)tests/record/test_rocm.py $(B)
	$(Q)tests/record/test_host.py $(B)
	$(Q)tests/record/test_native.py $(B)

$(B)/tests/fake/librocprofiler-sdk.so: tests/fake/librocprofiler-sdk.c tests/fake/child.h tests/fake/rocprof.h tests/fake/rocprof_names.h src/vendor/rocprof.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -g -O1 -pthread -fPIC -shared -fvisibility=hidden -Isrc -Itests/fake \
	  -Wl,-soname,librocprofiler-sdk.so -o $@ $<

# Our declarations of vendors' libraries beside the vendors' own headers, where they are.
CUPTI_INCLUDE ?= $(firstword $(wildcard $(addsuffix /include,/usr/local/cuda /usr/local/cuda-*)))
ROCM_INCLUDE ?= $(firstword $(wildcard $(addsuffix /include,/opt/rocm /opt/rocm-*)))
AMDSMI_INCLUDE ?= $(patsubst %/amd_smi/amdsmi.h,%,$(firstword $(wildcard $(addsuffix /amd_smi/amdsmi.h,$(subst :, ,$(ROCM_INCLUDE))))))
abi-check: $(if $(CUPTI_INCLUDE),abi-cupti) $(if $(ROCM_INCLUDE),abi-rocm) $(if $(AMDSMI_INCLUDE),abi-amdsmi)
	@$(if $(CUPTI_INCLUDE)$(ROCM_INCLUDE)$(AMDSMI_INCLUDE),,echo "no headers: give CUPTI_INCLUDE=DIR, ROCM_INCLUDE=DIR:DIR or AMDSMI_INCLUDE=DIR"; exit 1)
abi-cupti:
	$(Q)$(CC) -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -fsyntax-only -Isrc -isystem $(CUPTI_INCLUDE) tests/record/abi_cupti.c
	@echo "declarations agree with $(CUPTI_INCLUDE)"
# rocprofiler-sdk's headers need HIP's and HSA's: in one folder, or several joined by colons.
abi-rocm:
	$(Q)$(CC) -std=gnu11 -D_DEFAULT_SOURCE -D__HIP_PLATFORM_AMD__ -Wall -Wextra -Werror -fsyntax-only -Isrc \
	  $(foreach d,$(subst :, ,$(ROCM_INCLUDE)),-isystem $(d) -isystem $(d)/hsa) tests/abi/rocm_check.c
	@echo "declarations agree with $(ROCM_INCLUDE)"
abi-amdsmi:
	$(Q)$(CC) -std=gnu11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -fsyntax-only -Isrc -isystem $(AMDSMI_INCLUDE) tests/abi/amdsmi_check.c
	@echo "declarations agree with $(AMDSMI_INCLUDE)"

lint:
	$(Q)tools/lint

bench:
	$(Q)tools/install-deps bench
	$(Q)$(MAKE) -s -j$$(nproc) all $(B)/bench/read $(B)/bench/gen_csv $(B)/bench/rocpd_read
	$(Q)bench/run $(B)

fuzz:
	$(Q)tools/install-deps fuzz
	$(Q)tests/fuzz/run

dist:
	$(Q)tools/install-deps dist
	$(Q)tools/dist

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include/assay \
	           $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	           $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(B)/assay $(DESTDIR)$(PREFIX)/bin/assay
	ln -sf assay $(DESTDIR)$(PREFIX)/bin/assay-mpi
	install -m 644 include/assay/assay.h $(DESTDIR)$(PREFIX)/include/assay/assay.h
	install -m 644 $(B)/libassay.a $(DESTDIR)$(PREFIX)/lib/libassay.a
	install -m 755 $(B)/libassay.so $(DESTDIR)$(PREFIX)/lib/libassay.so.0
	ln -sf libassay.so.0 $(DESTDIR)$(PREFIX)/lib/libassay.so
	sed 's|^prefix=.*|prefix=$(PREFIX)|' $(B)/assay.pc > $(DESTDIR)$(PREFIX)/lib/pkgconfig/assay.pc
	install -d $(DESTDIR)$(PREFIX)/lib/assay
	$(if $(REC_LIBS),install -m 755 $(REC_LIBS) $(DESTDIR)$(PREFIX)/lib/assay/)
	install -m 644 $(B)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(B)/completion/assay.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/assay
	install -m 644 $(B)/completion/assay.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_assay
	install -m 644 $(B)/completion/assay.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/assay.fish

uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/lib/assay
	rm -f $(DESTDIR)$(PREFIX)/bin/assay $(DESTDIR)$(PREFIX)/bin/assay-mpi $(DESTDIR)$(PREFIX)/lib/libassay.* $(DESTDIR)$(PREFIX)/include/assay/assay.h \
	      $(DESTDIR)$(PREFIX)/lib/pkgconfig/assay.pc \
	      $(DESTDIR)$(PREFIX)/share/man/man1/assay*.1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions/assay \
	      $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_assay $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/assay.fish

clean:
	rm -rf build report.html

-include $(shell find $(B) -name '*.d' 2>/dev/null)
