//! The server of a page for this machine's browser: the readiness page, and the page of `view --open`.
//!
//! [`Server`] listens on 127.0.0.1 and is polled: its descriptor is readable when [`Server::serve`] has something to do, which
//! never blocks and needs no thread. A [`Site`] decides on each request. From outside to inside: `server.rs` has the
//! connections, `connection.rs` the I/O of one, `exchange.rs` its requests, `request.rs` and `answer.rs` their bytes.
//!
//! Not obvious: any page in the browser may send requests to 127.0.0.1 and, under a name of its own that it lets resolve to there
//! (DNS rebinding), read the answers. So only requests that name this host and a random directory reach the site.

mod address;
mod answer;
mod connection;
mod exchange;
#[doc(hidden)]
pub mod fuzzing;
mod request;
mod server;
mod site;

pub use answer::Status;
pub use request::Request;
pub use server::Server;
pub use site::Site;
