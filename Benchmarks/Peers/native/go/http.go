package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"runtime"
)

var goVersion = runtime.Version()

// net/http: an event stream line by line; the server's events have one line of data.
type eventStream struct {
	client       *http.Client
	url          string
	isCompressed bool
}

func init() {
	clients["http"] = client{goVersion, func(task *task, size size) (stream, error) {
		transport := &http.Transport{ReadBufferSize: 64 << 10}
		if size.certificate != "" {
			transport.TLSClientConfig = trust(size)
		}
		path := "/responses"
		if task.IsChat {
			path = "/chat/completions"
		}
		return eventStream{&http.Client{Transport: transport}, size.url + path, task.IsCompressed}, nil
	}}
}

func (stream eventStream) read(take func([]byte) (bool, error)) error {
	response, err := stream.client.Get(stream.url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	if response.Uncompressed != stream.isCompressed {
		return fmt.Errorf("the stream is compressed: %v", response.Uncompressed)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Bytes()
		if !bytes.HasPrefix(line, []byte("data:")) {
			continue
		}
		if isOver, err := take(bytes.TrimPrefix(line[5:], []byte(" "))); isOver || err != nil {
			return err
		}
	}
	return fmt.Errorf("the stream ended: %v", lines.Err())
}

func (stream eventStream) close() { stream.client.CloseIdleConnections() }
