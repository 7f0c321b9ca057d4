import ctypes, json, os
# Numbers of calls that differ from processor to processor (include/uapi/asm-generic/unistd.h; arch/x86/entry/syscalls).
PERF_EVENT_OPEN, USERFAULTFD = (241, 282) if os.uname().machine == "aarch64" else (298, 323)
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    result = libc.syscall(*words)
    if result < 0:
        return os.strerror(ctypes.get_errno())
    return ""
def cachestat(fd):
    return call(451, fd, (ctypes.c_uint64 * 2)(0, 1), (ctypes.c_uint64 * 5)(), 0)
def perf(flags):
    # perf_event_attr: type 1 (software), size 112, config 2 (page faults), flags at byte 40
    attributes = (ctypes.c_uint8 * 112)()
    ctypes.c_uint32.from_buffer(attributes, 0).value = 1
    ctypes.c_uint32.from_buffer(attributes, 4).value = 112
    ctypes.c_uint64.from_buffer(attributes, 8).value = 2
    ctypes.c_uint64.from_buffer(attributes, 40).value = flags
    return call(PERF_EVENT_OPEN, attributes, 0, -1, -1, 8)
def opened(path, flags):
    try:
        os.close(os.open(path, flags))
        return ""
    except OSError as error:
        return error.strerror
own = os.memfd_create("witness")
os.write(own, b"x")
print(json.dumps({
    "drop_caches": opened("/proc/sys/vm/drop_caches", os.O_WRONLY),
    "cachestat": cachestat(own),
    "other": cachestat(os.open("/usr/bin/env", os.O_RDONLY)),
    # disabled, exclude_kernel, exclude_hv
    "perf_user": perf(1 | 1 << 5 | 1 << 6),
    "perf_kernel": perf(1 | 1 << 6),
    "pidfd": call(434, os.getpid(), 0),
    "userfaultfd": call(USERFAULTFD, 1),
    "userfaultfd_device": opened("/dev/userfaultfd", os.O_RDWR),
}))
