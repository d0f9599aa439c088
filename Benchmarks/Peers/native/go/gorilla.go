//go:build gorilla

package main

import "github.com/gorilla/websocket"

// gorilla/websocket: a buffer for each message.
type gorilla struct{ connection *websocket.Conn }

func init() {
	clients["gorilla"] = client{goVersion, func(task *task, size size) (stream, error) {
		dialer := websocket.Dialer{EnableCompression: task.IsCompressed, ReadBufferSize: 64 << 10}
		if size.certificate != "" {
			dialer.TLSClientConfig = trust(size)
		}
		connection, _, err := dialer.Dial(size.url+"/responses", nil)
		return gorilla{connection}, err
	}}
}

func (stream gorilla) read(take func([]byte) (bool, error)) error {
	err := stream.connection.WriteMessage(websocket.TextMessage, []byte("{}"))
	for isOver := false; err == nil && !isOver; {
		var message []byte
		if _, message, err = stream.connection.ReadMessage(); err == nil {
			isOver, err = take(message)
		}
	}
	return err
}

func (stream gorilla) close() { stream.connection.Close() }
