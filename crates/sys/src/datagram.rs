//! Receiving a datagram together with its sender's PID (`SCM_CREDENTIALS`, `unix(7)`).
//!
//! A sender may pass descriptors with a datagram. We accept none: the buffer has room for the
//! credentials only, which the kernel writes first (`scm_recv_unix`, `include/net/scm.h`), and the kernel closes what does not fit.
//! rustix supports these messages too, but not a sender PID of 0, for a sender outside our PID namespace.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// A control message's header and a `struct ucred`, both padded to words: `CMSG_SPACE(sizeof(struct ucred))`.
const CONTROL_LENGTH: usize = 32;

/// Control messages are read in place and need their header's alignment.
#[repr(C, align(8))]
struct Control([u8; CONTROL_LENGTH]);

/// A received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of the buffer in use.
    pub length: usize,
    /// It was longer than the buffer.
    pub is_truncated: bool,
    /// The sender's PID in our PID namespace; the process may have ended since. `None` if it has none
    /// there, or the socket does not request credentials (`SO_PASSCRED`).
    pub sender: Option<u32>,
}

/// Receives a datagram, closing any descriptors that come with it. Never waits.
///
/// # Errors
/// `WouldBlock` when there is none; otherwise the kernel's error (`recvmsg(2)`).
pub fn receive_datagram(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Datagram> {
    let mut control = Control([0; CONTROL_LENGTH]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeros is a valid msghdr: no address, no parts, no control messages.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    // The type of the length differs between C libraries.
    header.msg_controllen = CONTROL_LENGTH as _;
    let length = loop {
        // SAFETY: the header points at `part`, which describes `buffer`, and at `control`; all outlive the call.
        let length = unsafe {
            libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC)
        };
        match usize::try_from(length) {
            Ok(length) => break length,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    };
    let sender = take_control_messages(&header);
    Ok(Datagram { length, is_truncated: header.msg_flags & libc::MSG_TRUNC != 0, sender })
}

/// The sender's PID; closes any descriptors.
fn take_control_messages(header: &libc::msghdr) -> Option<u32> {
    let mut sender = None;
    // SAFETY: the kernel has filled in the header, whose control buffer is aligned and lives in the caller.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return null or a whole header inside the control buffer.
    while let Some(found) = unsafe { message.as_ref() } {
        // SAFETY: `found` is a header as above.
        let data = unsafe { libc::CMSG_DATA(found) };
        // Another type in other C libraries.
        #[allow(clippy::unnecessary_cast)]
        let payload = (found.cmsg_len as usize).saturating_sub(data as usize - message as usize);
        match (found.cmsg_level, found.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) if payload >= size_of::<libc::ucred>() => {
                // SAFETY: the message is long enough for a ucred, of which every field is a plain integer.
                let credentials = unsafe { data.cast::<libc::ucred>().read_unaligned() };
                sender = u32::try_from(credentials.pid).ok().filter(|&number| number != 0);
            }
            (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                for index in 0..payload / size_of::<libc::c_int>() {
                    // SAFETY: the message is long enough for this many descriptors.
                    let descriptor = unsafe { data.cast::<libc::c_int>().add(index).read_unaligned() };
                    // SAFETY: the kernel has just put it into our table, for us alone.
                    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
                }
            }
            _ => {}
        }
        // SAFETY: `message` is the header found last in this control buffer.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    sender
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{IoSlice, Read};
    use std::os::unix::net::UnixDatagram;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg, sockopt::set_socket_passcred};

    fn pair() -> (UnixDatagram, UnixDatagram) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        set_socket_passcred(&ours, true).unwrap();
        (ours, theirs)
    }

    #[test]
    fn the_sender_is_told() {
        let (ours, theirs) = pair();
        let mut buffer = [0; 8];
        assert_eq!(receive_datagram(&ours, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        theirs.send(b"hello").unwrap();
        theirs.send(b"").unwrap();
        theirs.send(b"far too long").unwrap();
        let sender = Some(std::process::id());
        assert_eq!(
            [(); 3].map(|()| receive_datagram(&ours, &mut buffer).unwrap()),
            [(5, false), (0, false), (8, true)].map(|(length, is_truncated)| Datagram { length, is_truncated, sender })
        );
        assert_eq!(&buffer, b"far too ");
    }

    #[test]
    fn without_credentials_there_is_no_sender() {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        theirs.send(b"hello").unwrap();
        assert_eq!(receive_datagram(&ours, &mut [0; 8]).unwrap().sender, None);
    }

    /// With and without credentials: without, there is room for descriptors, and they are ours to close.
    #[test]
    fn descriptors_are_closed() {
        for passes_credentials in [true, false] {
            let (ours, theirs) = UnixDatagram::pair().unwrap();
            set_socket_passcred(&ours, passes_credentials).unwrap();
            let (mut reader, writer) = io::pipe().unwrap();
            let descriptors = [writer.as_fd(), writer.as_fd(), writer.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
            sendmsg(&theirs, &[IoSlice::new(b"BARRIER=1")], &mut control, SendFlags::empty()).unwrap();
            drop(writer);
            let mut buffer = [0; 64];
            let received = receive_datagram(&ours, &mut buffer).unwrap();
            assert_eq!(received.length, 9);
            // The end of file comes only when nobody holds the other end any more.
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        }
    }
}
