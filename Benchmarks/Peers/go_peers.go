// Parses the benchmark's streams with event-stream parsers for Go, and times it.
//
// Usage: go_peers FOLDER PEER WORKLOAD...
//
// Arguments and output are those of python_peers.py. The versions are those of the Debian packages, which the
// environment variables DONOVANHIDE_VERSION and GIN_CONTRIB_VERSION name.
package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/donovanhide/eventsource"
	"github.com/gin-contrib/sse"
)

var repetitions = int(numberOf(os.Getenv("PASSES"), 5))

// A pass takes this long at most, by the speed of a small one; a slow parser gets less of the stream.
var secondsAPass = numberOf(os.Getenv("SECONDS_A_PASS"), 0.6)

// Short passes are repeated for as long as long ones, up to so many times.
const mostRepetitions = 60

func numberOf(text string, otherwise float64) float64 {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return number
	}
	return otherwise
}

// Lends a stream in chunks, one a call.
type chunkReader struct {
	rest           []byte
	chunkByteCount int
}

func (reader *chunkReader) Read(buffer []byte) (int, error) {
	if len(reader.rest) == 0 {
		return 0, io.EOF
	}
	count := copy(buffer, reader.rest[:min(len(reader.rest), reader.chunkByteCount)])
	reader.rest = reader.rest[count:]
	return count, nil
}

type peer struct {
	version string
	parse   func(reader io.Reader, receive func(data string)) error
}

var peers = map[string]peer{
	"donovanhide/eventsource": {os.Getenv("DONOVANHIDE_VERSION"), func(reader io.Reader, receive func(string)) error {
		decoder := eventsource.NewDecoder(reader)
		for {
			event, err := decoder.Decode()
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			receive(event.Data())
		}
	}},
	"gin-contrib/sse": {os.Getenv("GIN_CONTRIB_VERSION"), func(reader io.Reader, receive func(string)) error {
		events, err := sse.Decode(reader)
		for _, event := range events {
			receive(event.Data.(string))
		}
		return err
	}},
}

type facts struct {
	EventCount    int    `json:"eventCount"`
	DataByteCount int    `json:"dataByteCount"`
	DataChecksum  uint32 `json:"dataChecksum"`
}

type description struct {
	Corpus   string `json:"corpus"`
	File     string `json:"file"`
	Prefixes []struct {
		ByteCount int `json:"byteCount"`
	} `json:"prefixes"`
}

type result struct {
	Peer     string `json:"peer"`
	Version  string `json:"version"`
	Workload string `json:"workload"`
	*measurement
	Error string `json:"error,omitempty"`
}

type measurement struct {
	facts
	ByteCount int          `json:"byteCount"`
	Seconds   []float64    `json:"seconds"`
	Spans     [][2]float64 `json:"spans"`
}

// Counts, and reads every byte of data.
func found(peer peer, reader io.Reader) (facts, error) {
	var result facts
	err := peer.parse(reader, func(data string) {
		result.EventCount++
		result.DataByteCount += len(data)
		result.DataChecksum = crc32.Update(result.DataChecksum, crc32.IEEETable, []byte(data))
		result.DataChecksum = crc32.Update(result.DataChecksum, crc32.IEEETable, []byte{0})
	})
	return result, err
}

// Times a bare pass, and says when that was and how many events it found.
func timed(peer peer, reader io.Reader) (float64, [2]float64, int, error) {
	eventCount := 0
	moment, start := now(), processorTime()
	err := peer.parse(reader, func(string) { eventCount++ })
	// A pass collects what it has left: otherwise a short one leaves it to others, or has theirs.
	runtime.GC()
	elapsed := processorTime() - start
	return elapsed, [2]float64{moment, now() - moment}, eventCount, err
}

// The moment, in seconds of the monotonic clock as the system has it: time.Now has another beginning.
func now() float64 {
	const monotonic = 1
	var time syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&time)), 0); err != 0 {
		panic(err)
	}
	return float64(time.Nano()) / 1e9
}

// The seconds that all threads of the process have used.
func processorTime() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// How much of a stream is parsed at most, as sse-throughput has it.
func largest(chunkByteCount int) int {
	switch {
	case chunkByteCount < 16:
		return 2 << 20
	case chunkByteCount < 256:
		return 8 << 20
	default:
		return 1 << 40
	}
}

func measure(folder string, descriptions []description, peer peer, workload string) (*measurement, error) {
	corpus, size, _ := strings.Cut(workload, "/")
	chunkByteCount, err := strconv.Atoi(size)
	if err != nil {
		return nil, err
	}
	for _, description := range descriptions {
		if description.Corpus != corpus {
			continue
		}
		stream, err := os.ReadFile(filepath.Join(folder, description.File))
		if err != nil {
			return nil, err
		}
		return measureStream(stream, description, peer, chunkByteCount)
	}
	return nil, fmt.Errorf("no corpus %s", corpus)
}

func measureStream(stream []byte, description description, peer peer, chunkByteCount int) (*measurement, error) {
	reader := func(byteCount int) io.Reader { return &chunkReader{stream[:byteCount], chunkByteCount} }
	chosen := description.Prefixes[0].ByteCount
	for _, prefix := range description.Prefixes {
		elapsed, _, _, err := timed(peer, reader(chosen))
		if err != nil {
			return nil, err
		}
		if prefix.ByteCount > chosen && elapsed*float64(prefix.ByteCount)/float64(chosen) > secondsAPass {
			break
		}
		chosen = prefix.ByteCount
		if chosen >= largest(chunkByteCount) {
			break
		}
	}
	facts, err := found(peer, reader(chosen))
	if err != nil {
		return nil, err
	}
	measurement := &measurement{facts: facts, ByteCount: chosen}
	sum, enough := 0.0, float64(repetitions)*secondsAPass
	for count := 0; count < repetitions || sum < enough && count < mostRepetitions; count++ {
		elapsed, span, eventCount, err := timed(peer, reader(chosen))
		if err != nil {
			return nil, err
		}
		if eventCount != facts.EventCount {
			return nil, fmt.Errorf("%d events, %d before", eventCount, facts.EventCount)
		}
		sum += elapsed
		measurement.Seconds = append(measurement.Seconds, elapsed)
		measurement.Spans = append(measurement.Spans, span)
	}
	return measurement, nil
}

func main() {
	folder, name := os.Args[1], os.Args[2]
	text, err := os.ReadFile(filepath.Join(folder, "facts.json"))
	if err != nil {
		panic(err)
	}
	var descriptions []description
	if err := json.Unmarshal(text, &descriptions); err != nil {
		panic(err)
	}
	peer := peers[name]
	for _, workload := range os.Args[3:] {
		line := result{Peer: name, Version: peer.version, Workload: workload}
		if line.measurement, err = measure(folder, descriptions, peer, workload); err != nil {
			line.Error = err.Error()
		}
		output, err := json.Marshal(line)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(output))
	}
}
