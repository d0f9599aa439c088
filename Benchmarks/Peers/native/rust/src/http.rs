//! An event stream by hand: one blocking socket, whose chunks are decoded here.

use crate::meter::{Fault, Meter, Size, Task};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Reads a line of the head or between two chunks, without its end.
fn next_line<'a>(source: &mut BufReader<TcpStream>, line: &'a mut String) -> Result<&'a str, Fault> {
    line.clear();
    source.read_line(line)?;
    Ok(line.strip_suffix("\r\n").ok_or("the stream has ended early")?)
}

/// Takes the complete lines of a body, and leaves the rest; the server's events have one line of data.
fn take_lines(body: &mut Vec<u8>, meter: &mut Meter) -> Result<(), Fault> {
    let count = body.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    for line in std::str::from_utf8(&body[..count])?.lines() {
        if let Some(data) = line.strip_prefix("data:") {
            meter.take(0, data.strip_prefix(' ').unwrap_or(data))?;
        }
    }
    body.drain(..count);
    Ok(())
}

pub fn read_stream(_: &Task, size: &Size, meter: &mut Meter) -> Result<(), Fault> {
    let address = size.url.split_once("://").ok_or("no URL")?.1;
    meter.begin();
    let mut socket = TcpStream::connect(address)?;
    let head = format!("POST /chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\n\r\n");
    socket.write_all((head + "{}").as_bytes())?;
    let mut source = BufReader::with_capacity(64 << 10, socket);
    let (mut line, mut body) = (String::new(), Vec::new());
    let status = next_line(&mut source, &mut line)?;
    if status != "HTTP/1.1 200 OK" {
        return Err(status.into());
    }
    while !next_line(&mut source, &mut line)?.is_empty() {}
    while !meter.is_over() {
        let count = usize::from_str_radix(next_line(&mut source, &mut line)?, 16)?;
        let start = body.len();
        body.resize(start + count, 0);
        source.read_exact(&mut body[start..])?;
        if !next_line(&mut source, &mut line)?.is_empty() || count == 0 {
            return Err("the stream has ended early".into());
        }
        take_lines(&mut body, meter)?;
    }
    Ok(())
}
