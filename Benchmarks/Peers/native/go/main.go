// The parts that the peers in Go share: the task, the contents taken out of each event, and the answer.
//
// usage: go-peers CLIENT TASK
//
// Task and answer are those of ../peer.hpp. Each file with a client has a build tag of the client's name, so that one
// whose package is missing can be left out; `go-peers` alone prints their names.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

type size struct {
	deltaCount  int
	url         string
	certificate string
}

type task struct {
	Sizes                 [][]interface{}
	StreamCount, RunCount int
	First, Last           int64
	Seconds               float64
	IsCompressed, IsChat  bool
}

// A stream of one connection.
type stream interface {
	// Requests a response, and passes each event to `take` until that returns true.
	read(take func([]byte) (bool, error)) error
	close()
}

type client struct {
	version string
	open    func(task *task, size size) (stream, error)
}

var clients = map[string]client{}

// A moment with the processor time and the context switches of the process until then.
type reading struct {
	wall      int64
	processor float64
	switches  int64
}

func moment() int64 {
	var now syscall.Timespec
	// The clock of the server; the time package has no access to it.
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func now() reading {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return reading{moment(), float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, usage.Nvcsw + usage.Nivcsw}
}

// The most memory that the process has had, in bytes.
func peakMemory() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	var kibibytes int64
	if at := strings.Index(string(text), "VmHWM:"); at >= 0 {
		fmt.Sscan(string(text[at+6:]), &kibibytes)
	}
	return kibibytes * 1024
}

// The findings in one stream.
type tally struct {
	EventCount    int     `json:"eventCount"`
	TextByteCount int     `json:"textByteCount"`
	TextChecksum  *uint32 `json:"textChecksum,omitempty"`
	sum           uint64
}

// One pass over all streams.
type meter struct {
	task       *task
	checks     bool
	start, end reading
	total      int64
	lags       []uint32
}

type event struct {
	Type  string `json:"type"`
	Delta string `json:"delta"`
}

// A chunk of Chat Completions.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
}

func (meter *meter) take(found *tally, message []byte) (bool, error) {
	if meter.task.IsChat {
		return meter.takeChunk(found, message)
	}
	var event event
	if err := json.Unmarshal(message, &event); err != nil {
		return false, err
	}
	if event.Type == "response.output_text.delta" {
		meter.takeText(found, event.Delta)
	}
	return event.Type == "response.completed", nil
}

func (meter *meter) takeChunk(found *tally, message []byte) (bool, error) {
	if string(message) == "[DONE]" {
		return true, nil
	}
	var chunk chunk
	if err := json.Unmarshal(message, &chunk); err != nil {
		return false, err
	}
	if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
		meter.takeText(found, chunk.Choices[0].Delta.Content)
	}
	return false, nil
}

func (meter *meter) takeText(found *tally, text string) {
	found.EventCount++
	found.TextByteCount += len(text)
	if meter.checks {
		*found.TextChecksum = crc32.Update(*found.TextChecksum, crc32.IEEETable, []byte(text))
	}
	if meter.task.Last > 0 {
		meter.takeMoment(found, text)
	}
}

func (meter *meter) takeMoment(found *tally, text string) {
	var sent uint64
	for index := 0; index < len(text); index++ {
		sent = sent*10 + uint64(text[index]-'0')
	}
	found.sum += sent
	total := atomic.AddInt64(&meter.total, 1)
	if total > meter.task.First && total <= meter.task.Last {
		meter.lags[total-meter.task.First-1] = uint32(moment() - int64(sent))
	}
	if total == meter.task.First {
		meter.start = now()
	}
	if total == meter.task.Last {
		meter.end = now()
	}
}

// Opens all streams, a response on each, and reads them to their ends, each in a goroutine.
func pass(task *task, size size, client client, checks bool) (*meter, []*tally, error) {
	meter := &meter{task: task, checks: checks}
	if task.Last > 0 {
		meter.lags = make([]uint32, task.Last-task.First)
	}
	streams := make([]stream, task.StreamCount)
	for index := range streams {
		opened, err := client.open(task, size)
		if err != nil {
			return nil, nil, err
		}
		defer opened.close()
		streams[index] = opened
	}
	found := make([]*tally, len(streams))
	failures := make(chan error, len(streams))
	var group sync.WaitGroup
	meter.start = now()
	for index := range streams {
		tally := &tally{}
		if checks {
			tally.TextChecksum = new(uint32)
		}
		found[index] = tally
		group.Add(1)
		go func(stream stream) {
			defer group.Done()
			if err := stream.read(func(message []byte) (bool, error) { return meter.take(tally, message) }); err != nil {
				failures <- err
			}
		}(streams[index])
	}
	group.Wait()
	if task.Last == 0 {
		meter.end = now()
	}
	select {
	case err := <-failures:
		return nil, nil, err
	default:
		return meter, found, nil
	}
}

type flood struct {
	Seconds          float64  `json:"seconds"`
	ProcessorSeconds float64  `json:"processorSeconds"`
	Streams          []*tally `json:"streams"`
}

func measureFlood(task *task, client client) (map[string]interface{}, error) {
	chosen := sizeOf(task.Sizes[0])
	run := func(checks bool) (flood, error) {
		meter, found, err := pass(task, chosen, client, checks)
		if err != nil {
			return flood{}, err
		}
		seconds := float64(meter.end.wall-meter.start.wall) / 1e9
		return flood{seconds, meter.end.processor - meter.start.processor, found}, nil
	}
	// A pass before all others fills caches.
	if _, err := run(false); err != nil {
		return nil, err
	}
	for _, item := range task.Sizes[1:] {
		found, err := run(false)
		if err != nil {
			return nil, err
		}
		next := sizeOf(item)
		if found.Seconds*float64(next.deltaCount) > task.Seconds*float64(chosen.deltaCount) {
			break
		}
		chosen = next
	}
	check, err := run(true)
	runs := make([]flood, task.RunCount)
	for index := 0; index < task.RunCount && err == nil; index++ {
		runs[index], err = run(false)
	}
	return map[string]interface{}{"deltaCount": chosen.deltaCount, "check": check, "runs": runs}, err
}

func measurePaced(task *task, client client) (map[string]interface{}, error) {
	meter, found, err := pass(task, sizeOf(task.Sizes[0]), client, false)
	if err != nil {
		return nil, err
	}
	var sum uint64
	for _, tally := range found {
		sum += tally.sum
	}
	sort.Slice(meter.lags, func(one, other int) bool { return meter.lags[one] < meter.lags[other] })
	lag := func(share float64) uint32 { return meter.lags[int(float64(len(meter.lags)-1)*share)] }
	return map[string]interface{}{
		"eventCount": meter.total, "momentSum": fmt.Sprint(sum),
		"seconds":          float64(meter.end.wall-meter.start.wall) / 1e9,
		"processorSeconds": meter.end.processor - meter.start.processor,
		"switchCount":      meter.end.switches - meter.start.switches,
		"lags":             []uint32{lag(0.5), lag(0.99)},
	}, nil
}

func sizeOf(item []interface{}) size {
	certificate, _ := item[2].(string)
	return size{int(item[0].(float64)), item[1].(string), certificate}
}

// The settings of TLS by certificate, which all connections share; connections are opened one after another.
var trusted = map[string]*tls.Config{}

// The settings of TLS that trust the certificate of the server.
func trust(size size) *tls.Config {
	if known, isKnown := trusted[size.certificate]; isKnown {
		return known
	}
	pool := x509.NewCertPool()
	text, _ := os.ReadFile(size.certificate)
	pool.AppendCertsFromPEM(text)
	trusted[size.certificate] = &tls.Config{RootCAs: pool}
	return trusted[size.certificate]
}

func main() {
	if len(os.Args) != 3 {
		for name := range clients {
			fmt.Println(name)
		}
		return
	}
	var limit syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	limit.Cur = limit.Max
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	client, task := clients[os.Args[1]], &task{}
	err := json.Unmarshal([]byte(os.Args[2]), task)
	var answer map[string]interface{}
	if err == nil && client.open == nil {
		err = fmt.Errorf("no client %s", os.Args[1])
	} else if err == nil && task.Last > 0 {
		answer, err = measurePaced(task, client)
	} else if err == nil {
		answer, err = measureFlood(task, client)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer["version"] = client.version
	answer["memoryBytes"] = peakMemory()
	json.NewEncoder(os.Stdout).Encode(answer)
}
