//go:build gobwas

package main

import (
	"bufio"
	"context"
	"io"
	"net"

	"github.com/gobwas/ws"
)

// gobwas/ws: frames of a buffered connection, into a buffer that is used again.
type gobwas struct {
	connection net.Conn
	input      *bufio.Reader
}

func init() {
	clients["gobwas"] = client{goVersion, func(task *task, size size) (stream, error) {
		dialer := ws.Dialer{}
		if size.certificate != "" {
			dialer.TLSConfig = trust(size)
		}
		connection, _, _, err := dialer.Dial(context.Background(), size.url+"/responses")
		return gobwas{connection, bufio.NewReaderSize(connection, 64<<10)}, err
	}}
}

func (stream gobwas) read(take func([]byte) (bool, error)) error {
	err := ws.WriteFrame(stream.connection, ws.MaskFrameInPlace(ws.NewTextFrame([]byte("{}"))))
	var buffer []byte
	for isOver := false; err == nil && !isOver; {
		var header ws.Header
		if header, err = ws.ReadHeader(stream.input); err != nil {
			break
		}
		if int64(cap(buffer)) < header.Length {
			buffer = make([]byte, header.Length)
		}
		message := buffer[:header.Length]
		if _, err = io.ReadFull(stream.input, message); err == nil && header.OpCode == ws.OpText {
			isOver, err = take(message)
		}
	}
	return err
}

func (stream gobwas) close() { stream.connection.Close() }
