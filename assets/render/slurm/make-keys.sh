# Run once, as root, on the first controller. Existing keys are kept.
# Copy the MUNGE key to every host (owner munge, mode 0400) and the JWT key to the other controllers (slurm, 0600).
set -eu
umask 077

root=${WEFT_ROOT:-} # directory to use instead of /

# make_key FILE BYTES OWNER MODE
make_key() {
  if [ -s "$root$1" ]; then
    echo "$1 already exists"
    return 0
  fi
  mkdir -p "$(dirname "$root$1")"
  dd if=/dev/urandom of="$root$1.new" bs="$2" count=1 2>/dev/null
  finish "$1" "$3" "$4"
}

# finish FILE OWNER MODE: sets owner and mode before an atomic rename
finish() {
  chmod "$3" "$root$1.new"
  if [ -z "$root" ]; then chown "$2:$2" "$1.new"; fi
  mv "$root$1.new" "$root$1"
  echo "created $1"
}

make_key /etc/munge/munge.key 1024 munge 0400
