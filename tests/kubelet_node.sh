#!/bin/sh
# tests/kubelet_node.sh FOLDER CONTAINERD: the node of a test with a real kubelet, as process 1 of namespaces of its own
# (kubelet_lab.h starts it with unshare). Everything that it mounts and starts ends with it.
#
# FOLDER has containerd.toml; CONTAINERD is what scripts/containerd.sh unpacked.
set -eu
folder=$1
PATH=$2/usr/sbin:$2/usr/bin:$PATH
export PATH

# Paths that kubelets and containerd do not let one choose.
for private in /run /var/lib /var/log; do
  mount -t tmpfs node "$private"
done

# The kubelet sets these: it gets files of its own, so that the machine keeps its values.
mkdir -p "$folder/sysctl"
for name in vm/overcommit_memory kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  copy=$folder/sysctl/$(basename "$name")
  cat "/proc/sys/$name" >"$copy"
  mount --bind "$copy" "/proc/sys/$name"
done

# Device files, with eight that stand for GPUs: another name of /dev/full, which programs do not keep open.
mkdir -p "$folder/dev"
mount -t tmpfs dev "$folder/dev"
for name in null zero full random urandom tty kmsg; do
  cp -a "/dev/$name" "$folder/dev/"
done
for number in 0 1 2 3 4 5 6 7; do
  mknod -m 666 "$folder/dev/nvidia$number" c 1 7
done
mkdir "$folder/dev/pts" "$folder/dev/shm"
ln -s pts/ptmx "$folder/dev/ptmx"
ln -s /proc/self/fd "$folder/dev/fd"
mount --bind /dev/pts "$folder/dev/pts"
mount --rbind "$folder/dev" /dev

containerd --config "$folder/containerd.toml" >"$folder/containerd.log" 2>&1 &
wait # also for shims, whose parent is this process
