#!/bin/sh
# prepare.sh --data-dir D --model-dir M --index-dir I: builds the index that run.sh answers from.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)
exec "${PYTHON:-python3}" -P -B -c 'import sys; sys.path.insert(0, sys.argv[1]); from tracing.prepare import main; sys.exit(main(sys.argv[2:]))' "$here/lib" "$@"
