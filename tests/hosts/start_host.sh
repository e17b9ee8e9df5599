# The first process of a host, inside of its namespaces: start_host.sh NAME ADDRESS FOLDER SSHD
#
# It speaks with its cluster by lines: says `mounted`, waits for one (its network device is there then), says `up`.
set -e
name=$1 address=$2 folder=$3 sshd=$4

hostname "$name"
# /sys has to be that of this network. What shows the control groups stays as it was.
old_sys=$folder/old-sys.$name
mkdir -p "$old_sys"
mount --rbind /sys "$old_sys"
mount -t sysfs sysfs /sys
mount --rbind "$old_sys/fs/cgroup" /sys/fs/cgroup
umount -l "$old_sys"
rmdir "$old_sys"
for place in /dev/shm /run /tmp; do mount -t tmpfs -o mode=1777 tmpfs $place; done
mount --bind "$folder/hosts" /etc/hosts
mount --bind "$folder/ssh_config" /etc/ssh/ssh_config
if [ -d "$folder/slurm" ] && [ -d /etc/slurm ]; then mount --bind "$folder/slurm" /etc/slurm; fi
echo mounted
read -r _

ip -batch - <<END
link set lo up
addr add $address/16 dev e0
link set e0 up
route add 224.0.0.0/4 dev e0
END
if [ -n "$sshd" ]; then
    mkdir -p /run/sshd
    "$sshd" -f "$folder/sshd_config"
fi
echo up
exec </dev/null >/dev/null 2>&1
# It stays, and takes the ends of processes that nobody else waits for.
while :; do sleep 3600; done
