# Starts a program as on Linux before 6.4: prctl(2) does not know PR_GET_AUXV.
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def line(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)
number = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
program = (line(0x20, 0, 0, 0) + line(0x15, 0, 3, number)
    + line(0x20, 0, 0, 16) + line(0x15, 0, 1, 0x41555856)
    + line(0x06, 0, 0, 0x00050000 | 22) + line(0x06, 0, 0, 0x7fff0000))
lines = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
described = Program(6, ctypes.addressof(lines))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(described), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
