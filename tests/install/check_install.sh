#!/usr/bin/env bash
# Installs the build into a fresh folder, builds a consumer against it alone, and runs both.
#   check_install.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" --strip >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
cmake -S "$source/tests/install/consumer" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 || { tail -30 "$work/log"; exit 1; }
cmake --build "$work/consumer" >"$work/log" 2>&1 || { tail -30 "$work/log"; exit 1; }
"$work/consumer/consumer" "$work/store"
"$work/prefix/bin/casemate" --version
printf '<p>The ferry leaves at six.</p>\n' >"$work/a.html"
# The installed program finds its reader in libexec: an HTML file can be read (the model need not be here for that).
if "$work/prefix/bin/casemate" index "$work/a.html" --store "$work/s" >"$work/out" 2>&1; then
  grep -q 'added 1' "$work/out"
else
  cat "$work/out"
  grep -q 'models pull' "$work/out"
fi
echo "install works"
