# Starts a program under a filter of system calls: filtered.py NUMBER[:ARGUMENT]=ERROR... -- PROGRAM [ARGUMENT...]
# A call with this number, and this first argument if one is named, fails with this error.
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
LOAD, EQUALS, RETURN, FAIL, ALLOW = 0x20, 0x15, 0x06, 0x00050000, 0x7fff0000
def line(code, if_true, if_false, value):
    return [struct.pack("HBBI", code, if_true, if_false, value)]
def rule(call, error):
    number, _, argument = call.partition(":")
    fails = line(RETURN, 0, 0, FAIL | int(error))
    if argument:
        fails = line(LOAD, 0, 0, 16) + line(EQUALS, 0, len(fails), int(argument)) + fails
    return line(LOAD, 0, 0, 0) + line(EQUALS, 0, len(fails), int(number)) + fails
end = sys.argv.index("--")
lines = sum((rule(*word.split("=")) for word in sys.argv[1:end]), []) + line(RETURN, 0, 0, ALLOW)
written = ctypes.create_string_buffer(b"".join(lines))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
described = Program(len(lines), ctypes.addressof(written))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(described), 0, 0) == 0
os.execvp(sys.argv[end + 1], sys.argv[end + 1:])
