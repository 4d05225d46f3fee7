//! An address where nothing listens.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// Keeps a port taken without listening on it, so that connections are refused and no other test gets the port. A
/// server may be started on it all the same.
pub struct Nowhere {
    /// The address.
    pub address: SocketAddr,
    _socket: TcpSocket,
}

impl Nowhere {
    /// Takes a free port.
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("a socket of ours");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        Self { address: socket.local_addr().expect("it is bound"), _socket: socket }
    }
}
