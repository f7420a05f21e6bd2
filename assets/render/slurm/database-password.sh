secret=/etc/slurm/slurmdbd.secret
if [ -s "$root$secret" ]; then
  echo "$secret already exists"
else
  mkdir -p "$root/etc/slurm"
  # Hexadecimal: no characters that are special to Slurm or SQL.
  printf 'StoragePass=%s\n' "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >"$root$secret.new"
  finish "$secret" slurm 0600
fi
# Sets the same password in a local database, through standard input, so that it does not show in ps.
if [ -z "$root" ] && command -v mariadb >/dev/null; then
  pass=$(sed -n 's/^StoragePass=//p' "$secret")
  mariadb <<SQL
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS 'slurm'@'%';
ALTER USER 'slurm'@'%' IDENTIFIED BY '$pass';
GRANT ALL ON slurm_acct_db.* TO 'slurm'@'%';
SQL
fi
