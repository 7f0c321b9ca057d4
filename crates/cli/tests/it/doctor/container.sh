set -e
root=$1; shift
mount -t tmpfs none "$root"
mkdir -p "$root"/proc "$root"/sys "$root"/tmp "$root"/old "$root"/run
for name in usr etc bin sbin lib lib64 dev; do
    if [ -L "/$name" ]; then ln -s "$(readlink /$name)" "$root/$name"
    elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; fi
done
mount --bind /sys "$root/sys"
mkdir -p "$root$COLDSTART_SCRATCH"
mount --bind "$COLDSTART_SCRATCH" "$root$COLDSTART_SCRATCH"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
: > "$root/run/.containerenv"
cd "$root"
pivot_root . old
umount -l /old
exec setpriv --bounding-set=-sys_admin,-sys_ptrace,-perfmon,-mknod,-sys_rawio,-fowner \
    --inh-caps=-all --reuid 0 --clear-groups -- "$@"
