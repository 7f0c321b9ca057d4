import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def line(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)
program = (line(0x20, 0, 0, 0)
    + line(0x15, 2, 0, 451) + line(0x15, 2, 0, 298) + line(0x06, 0, 0, 0x7fff0000)
    + line(0x06, 0, 0, 0x00050000 | 38) + line(0x06, 0, 0, 0x00050000 | 1))
lines = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
described = Program(6, ctypes.addressof(lines))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(described), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
