//! tungstenite with serde_json: WebSockets on one thread in epoll_wait; and Chat Completions by hand (http.rs).
//!
//! usage: tungstenite-peer TASK
//!
//! Task and answer are those of ../../peer.hpp.

mod http;
mod meter;

use meter::{Fault, Meter, Size, Task};
use openssl::ssl::{SslConnector, SslMethod, SslStream};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use tungstenite::{Error, Message, WebSocket};

/// A connection with TLS or without.
enum Wire {
    Plain(TcpStream),
    Secure(SslStream<TcpStream>),
}

impl Wire {
    fn open(size: &Size, trust: Option<&SslConnector>) -> Result<Wire, Fault> {
        let address = size.url.split_once("://").ok_or("no URL")?.1;
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        match trust {
            None => Ok(Wire::Plain(socket)),
            Some(trust) => Ok(Wire::Secure(trust.connect("127.0.0.1", socket)?)),
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Wire::Plain(socket) => socket,
            Wire::Secure(stream) => stream.get_ref(),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.read(target),
            Wire::Secure(stream) => stream.read(target),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.write(bytes),
            Wire::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The settings of TLS that trust the certificate of the server.
fn trust(certificate: &str) -> Result<SslConnector, Fault> {
    let mut trust = SslConnector::builder(SslMethod::tls_client())?;
    trust.set_ca_file(certificate)?;
    trust.set_read_ahead(true);
    Ok(trust.build())
}

/// The descriptors that are ready.
struct Poller(RawFd);

impl Poller {
    fn change(&self, how: i32, socket: &TcpStream, index: usize) {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
        // SAFETY: the event is read during the call alone.
        unsafe { libc::epoll_ctl(self.0, how, socket.as_raw_fd(), &mut event) };
    }

    fn wait(&self, events: &mut [libc::epoll_event]) -> usize {
        // SAFETY: the count is that of the events.
        unsafe { libc::epoll_wait(self.0, events.as_mut_ptr(), events.len() as i32, -1) }.max(0) as usize
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.0) };
    }
}

/// Reads all messages that are there.
fn read(source: &mut WebSocket<Wire>, index: usize, meter: &mut Meter) -> Result<(), Fault> {
    while !meter.streams[index].is_complete {
        match source.read() {
            Ok(Message::Text(text)) => meter.take(index, text.as_str())?,
            Ok(_) => {}
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn read_streams(task: &Task, size: &Size, meter: &mut Meter) -> Result<(), Fault> {
    // SAFETY: a call without pointers.
    let poller = Poller(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) });
    let trust = size.certificate.as_deref().map(trust).transpose()?;
    let mut sockets = Vec::new();
    for index in 0..task.stream_count {
        let request = format!("{}/responses", size.url);
        let (socket, _) = tungstenite::client(request, Wire::open(size, trust.as_ref())?).map_err(|error| error.to_string())?;
        socket.get_ref().socket().set_nonblocking(true)?;
        poller.change(libc::EPOLL_CTL_ADD, socket.get_ref().socket(), index);
        sockets.push(socket);
    }
    meter.begin();
    for socket in &mut sockets {
        socket.send(Message::text("{}"))?;
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; 512];
    while !meter.is_over() {
        let ready = poller.wait(&mut events);
        for event in &events[..ready] {
            let index = event.u64 as usize;
            read(&mut sockets[index], index, meter)?;
            if meter.streams[index].is_complete {
                poller.change(libc::EPOLL_CTL_DEL, sockets[index].get_ref().socket(), index);
            }
        }
    }
    Ok(())
}

fn main() {
    meter::raise_limit();
    let text = std::env::args().nth(1).unwrap_or_default();
    let answer = serde_json::from_str(&text).map_err(Fault::from).and_then(|task: Task| {
        meter::answer(&task, if task.is_chat { http::read_stream } else { read_streams })
    });
    match answer {
        Ok(answer) => println!("{answer}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
