#!/bin/sh
# install_test.sh CMAKE BUILD SOURCE CC [FLAGS]: an installed tree, moved to where it was not built for, is
# enough to build and run a program by pkg-config, by find_package, and statically.
set -eu
cmake=$1 build=$2 source=$3 cc=$4 flags=${5:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR=$work/stage "$cmake" --install "$build" --prefix /usr >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/stage/usr" "$work/prefix"
pc=$(find "$work/prefix" -name langevin.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$(dirname "$pc")" LD_LIBRARY_PATH="$libdir"
cmp "$source/include/langevin.h" "$work/prefix/include/langevin.h"
test -e "$libdir/liblangevin.so" -a -e "$libdir/liblangevin.a"

check() { # NAME PROGRAM: runs and says what the example says
  "$2" >"$work/out" || { echo "$1: the program failed"; exit 1; }
  grep -q '^regret [0-9]' "$work/out" || { echo "$1: unexpected output:"; cat "$work/out"; exit 1; }
  cp "$work/out" "$work/out.$1"
}

$cc $flags "$source/examples/own_env.c" $(pkg-config --cflags --libs langevin) -o "$work/by-pkg-config"
check pkg-config "$work/by-pkg-config"

$cc $flags "$source/examples/own_env.c" $(pkg-config --cflags langevin) "$libdir/liblangevin.a" \
  $(pkg-config --static --libs-only-l langevin | sed 's/-llangevin//') -pthread -o "$work/static"
if ldd "$work/static" | grep -q liblangevin; then echo "static: the shared library was linked"; exit 1; fi
check static "$work/static"

mkdir "$work/project"
cp "$source/examples/own_env.c" "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(langevin 0.1 REQUIRED)
add_executable(shared own_env.c)
target_link_libraries(shared PRIVATE langevin::langevin)
add_executable(static own_env.c)
target_link_libraries(static PRIVATE langevin::static)
END
{ "$cmake" -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$flags" && "$cmake" --build "$work/project/build"; } \
  >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check find_package "$work/project/build/shared"
check find_package-static "$work/project/build/static"
for way in static find_package find_package-static; do cmp "$work/out.pkg-config" "$work/out.$way"; done

if [ -e "$build/langevin" ]; then
  "$work/prefix/bin/langevin" version | grep -q "$(pkg-config --modversion langevin)" ||
    { echo "the command line and the pkg-config file differ in version"; exit 1; }
  test -e "$work/prefix/share/man/man1/langevin.1" || { echo "no manual page"; exit 1; }
fi

# The program finds the Python half beside itself, also when the shell found the program in PATH: its path is the last
# argument of the Python it starts.
if [ -e "$build/langevin" ]; then
  printf '#!/bin/sh\nfor last; do :; done\necho "$last" >"%s/package"\n' "$work" >"$work/python"
  chmod +x "$work/python"
  (cd "$work" && PATH=$work/prefix/bin:$PATH langevin run --env gym:Any-v0 --agent dqn --out run \
    --set env.python="$work/python" 2>/dev/null) && { echo "a run without an environment"; exit 1; }
  grep -qx "__version__ = \"$(pkg-config --modversion langevin)\"" "$(cat "$work/package")/langevin/__init__.py" ||
    { echo "the Python half is of another version"; exit 1; }
  cmp "$source/python/langevin/worker.py" "$(cat "$work/package")/langevin/worker.py"
  case $(cat "$work/package") in
  "$work"/*) ;;
  *) echo "the Python half is not the installed one: $(cat "$work/package")" && exit 1 ;;
  esac
fi

# The header is C++ too, where a C++ compiler is there.
if echo 'int main() { return 0; }' | $cc -x c++ -fsyntax-only - 2>/dev/null; then
  echo '#include <langevin.h>
int main() { return lgv_version() == nullptr; }' |
    $cc -x c++ -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags langevin) -
fi
