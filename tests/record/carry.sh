#!/bin/sh
# Make build/release/assay run on a machine without its libraries: copies them to build/carry and points the program
# there. Take along build/release/assay and build/carry; tests/record/h200.sh then uses the program.
set -eu
cd "$(dirname "$0")/../.."
rm -f build/release/assay
LDFLAGS="-Wl,-rpath,'\$\$ORIGIN/../carry'" make -s all
mkdir -p build/carry
rm -f build/carry/*
ldd build/release/assay | awk '/libisal|libzstd|libsqlite3|libz\.|libcrypto|libelf|libpcre/ { print $3 }' |
	xargs -I{} cp -L {} build/carry/
ls -la build/release/assay build/carry
