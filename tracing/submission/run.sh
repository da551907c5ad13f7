#!/bin/sh
# run.sh --index-dir I --query QUERY.json --output OUTPUT.json --top-k 10: answers one query from the index.
index='' query='' output='' top=10
while [ $# -gt 0 ]; do
    case $#:$1 in
    1:*) echo "tracing: $1 needs a value; usage: run.sh --index-dir I --query Q --output O [--top-k N]" >&2; exit 2 ;;
    *:--index-dir) index=$2 ;;
    *:--query) query=$2 ;;
    *:--output) output=$2 ;;
    *:--top-k) top=$2 ;;
    *) echo "tracing: unknown option $1; usage: run.sh --index-dir I --query Q --output O [--top-k N]" >&2; exit 2 ;;
    esac
    shift 2
done
if [ -z "$index" ] || [ -z "$query" ] || [ -z "$output" ]; then
    echo "tracing: --index-dir, --query and --output are needed" >&2
    exit 2
fi
if [ -x "$index/query" ]; then
    "$index/query" "$index/index.bin" "$query" "$output" "$top" && exit 0
    # Whatever the compiled helper leaves alone, mistakes above all, the Python program answers or explains.
fi
python=${PYTHON:-python3}
lib=${0%/*}/lib
[ "$lib" = "$0/lib" ] && lib=./lib
if [ -f "$index/python" ]; then
    read -r python <"$index/python"
    lib=$index/lib
fi
exec "$python" -I -S -B -c 'import sys; sys.path.insert(0, sys.argv[1]); from tracing.query import main; sys.exit(main(sys.argv[2:]))' "$lib" "$index" "$query" "$output" "$top"
