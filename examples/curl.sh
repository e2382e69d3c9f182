#!/usr/bin/env bash
# Adds a document, waits for its job, retrieves, screens and asks, with curl alone.
# usage: CASEMATE_URL=http://127.0.0.1:8080 [CASEMATE_KEY=cm-...] examples/curl.sh
set -euo pipefail
url=${CASEMATE_URL:-http://127.0.0.1:8080}

# A key in a command's words could be read by whoever is on this machine, so it goes into a file.
header=$(mktemp)
trap 'rm -f "$header"' EXIT
if [ -n "${CASEMATE_KEY:-}" ]; then printf 'Authorization: Bearer %s\n' "$CASEMATE_KEY" > "$header"; fi

call() { curl --silent --show-error --fail-with-body -H "@$header" -H 'Content-Type: application/json' "$@"; }
field() { sed -E "s/.*\"$1\":\"?([^\",}]*).*/\1/"; }

job=$(call "$url/v1/documents" -d '{"documents": [{"id": "timetable", "text": "The ferry leaves at six."}]}' | sed -E 's/^\{"id":"([^"]*).*/\1/')
while state=$(call "$url/v1/jobs/$job" | field state) && [ "$state" != "done" ]; do
  if [ "$state" = "failed" ]; then echo "the job failed" >&2; exit 1; fi
  sleep 0.1
done
echo "stored"

call "$url/v1/retrieve" -d '{"query": "When does the ferry leave?", "top_k": 1}'
echo
call "$url/v1/screen" -d '{"query": "When does the ferry leave?", "candidates": [
  {"id": "a", "text": "The ferry leaves at six.", "score": 0.9}, {"id": "b", "text": "It rains today.", "score": 0.4}]}'
echo
# --no-buffer shows an answer as it comes.
call --no-buffer "$url/v1/chat/completions" -d '{"model": "casemate", "stream": true, "messages": [
  {"role": "user", "content": "When does the ferry leave?"}]}'
