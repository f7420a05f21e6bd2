# Run once, as root, on the first controller. Keys that are there already stay as they are.
# Copy the MUNGE key to every host (owner munge, mode 0400) and the JWT key to the other controllers (slurm, 0600).
set -eu
umask 077

root=${WEFT_ROOT:-} # a folder to make them in, instead of /

# make_key FILE BYTES OWNER MODE
make_key() {
  if [ -s "$root$1" ]; then
    echo "$1 is there already"
    return 0
  fi
  mkdir -p "$(dirname "$root$1")"
  dd if=/dev/urandom of="$root$1.new" bs="$2" count=1 2>/dev/null
  finish "$1" "$3" "$4"
}

# finish FILE OWNER MODE: a key is never there with the wrong mode, nor half written
finish() {
  chmod "$3" "$root$1.new"
  if [ -z "$root" ]; then chown "$2:$2" "$1.new"; fi
  mv "$root$1.new" "$root$1"
  echo "made $1"
}

make_key /etc/munge/munge.key 1024 munge 0400
