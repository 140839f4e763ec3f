#!/bin/sh
# Builds index.ts, the test policy in AssemblyScript: sh build.sh OUT.wasm
# The compiler is installed from npm into a temporary directory, at the versions
# that package-lock.json names.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$here/index.ts" "$work"
cd "$work"
npm ci --silent --no-audit --no-fund --ignore-scripts
./node_modules/.bin/asc index.ts --optimize --runtime incremental --use abort=index/abort --outFile guest.wasm
cp guest.wasm "$out"
