//! The task, what is taken out of each event, and the answer.

use serde::Deserialize;
use serde_json::{json, Value};
use std::borrow::Cow;

pub type Fault = Box<dyn std::error::Error>;

/// A number of deltas, the URL of their server, and the file of its certificate.
#[derive(Deserialize)]
pub struct Size {
    pub delta_count: usize,
    pub url: String,
    pub certificate: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub sizes: Vec<Size>,
    pub stream_count: usize,
    pub run_count: usize,
    pub seconds: f64,
    #[serde(default)]
    pub is_chat: bool,
    #[serde(default)]
    first: usize,
    #[serde(default)]
    last: usize,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    delta: Cow<'a, str>,
}

/// A chunk of Chat Completions.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default, borrow)]
    content: Cow<'a, str>,
}

/// A moment with the processor time and the context switches of the process until then.
#[derive(Clone, Copy, Default)]
struct Reading {
    wall: u64,
    processor: f64,
    switches: i64,
}

fn moment() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is written during the call alone.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Reading {
    fn now() -> Reading {
        // SAFETY: zeros are a value of this structure, which is written during the call alone.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Reading {
            wall: moment(),
            processor: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            switches: usage.ru_nvcsw + usage.ru_nivcsw,
        }
    }
}

pub fn raise_limit() {
    // SAFETY: the structure is the call's alone.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

/// The most memory that the process has had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or_default() * 1024
}

/// The findings in one stream.
#[derive(Clone, Default)]
pub struct Tally {
    event_count: usize,
    byte_count: usize,
    checksum: crc32fast::Hasher,
    pub is_complete: bool,
}

/// One pass over all streams.
pub struct Meter<'a> {
    task: &'a Task,
    checks: bool,
    pub streams: Vec<Tally>,
    complete_count: usize,
    start: Reading,
    end: Reading,
    total: usize,
    sum: u64,
    lags: Vec<u32>,
}

impl Meter<'_> {
    fn new(task: &Task, checks: bool) -> Meter<'_> {
        let streams = vec![Tally::default(); task.stream_count];
        // Not zeros, so that the memory is touched before anything is measured.
        let lags = vec![1; task.last - task.first];
        let (start, end) = (Reading::default(), Reading::default());
        Meter { task, checks, streams, complete_count: 0, start, end, total: 0, sum: 0, lags }
    }

    /// To be called between the last connection and the first request.
    pub fn begin(&mut self) {
        self.start = Reading::now();
    }

    pub fn is_over(&self) -> bool {
        self.complete_count == self.streams.len()
    }

    /// Takes an event of a stream.
    pub fn take(&mut self, index: usize, text: &str) -> Result<(), Fault> {
        if self.task.is_chat {
            return self.take_chunk(index, text);
        }
        let event: Event = serde_json::from_str(text)?;
        if event.kind == "response.output_text.delta" {
            self.take_text(index, &event.delta);
        } else if event.kind == "response.completed" {
            self.complete(index);
        }
        Ok(())
    }

    /// Takes a chunk of Chat Completions, or the mark behind them.
    fn take_chunk(&mut self, index: usize, text: &str) -> Result<(), Fault> {
        if text == "[DONE]" {
            self.complete(index);
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(text)?;
        if let Some(choice) = chunk.choices.first().filter(|choice| !choice.delta.content.is_empty()) {
            self.take_text(index, &choice.delta.content);
        }
        Ok(())
    }

    fn take_text(&mut self, index: usize, text: &str) {
        let stream = &mut self.streams[index];
        stream.event_count += 1;
        stream.byte_count += text.len();
        if self.checks {
            stream.checksum.update(text.as_bytes());
        }
        if self.task.last > 0 {
            self.take_moment(text);
        }
    }

    fn complete(&mut self, index: usize) {
        self.streams[index].is_complete = true;
        self.complete_count += 1;
        if self.is_over() && self.task.last == 0 {
            self.end = Reading::now();
        }
    }

    fn take_moment(&mut self, text: &str) {
        let sent = text.bytes().fold(0u64, |sent, digit| sent * 10 + u64::from(digit - b'0'));
        self.sum = self.sum.wrapping_add(sent);
        self.total += 1;
        let (first, last) = (self.task.first, self.task.last);
        if self.total > first && self.total <= last {
            self.lags[self.total - first - 1] = (moment() - sent) as u32;
        }
        if self.total == first {
            self.start = Reading::now();
        }
        if self.total == last {
            self.end = Reading::now();
        }
    }

    fn seconds(&self) -> f64 {
        (self.end.wall - self.start.wall) as f64 / 1e9
    }

    fn flood(&self) -> Value {
        let stream = |found: &Tally| match self.checks {
            true => json!({"eventCount": found.event_count, "textByteCount": found.byte_count,
                           "textChecksum": found.checksum.clone().finalize()}),
            false => json!({"eventCount": found.event_count, "textByteCount": found.byte_count}),
        };
        json!({"seconds": self.seconds(), "processorSeconds": self.end.processor - self.start.processor,
               "streams": self.streams.iter().map(stream).collect::<Vec<_>>()})
    }

    fn paced(mut self) -> Value {
        self.lags.sort_unstable();
        let lag = |share: f64| self.lags[((self.lags.len() - 1) as f64 * share) as usize];
        json!({"eventCount": self.total, "momentSum": self.sum.to_string(), "seconds": self.seconds(),
               "processorSeconds": self.end.processor - self.start.processor,
               "switchCount": self.end.switches - self.start.switches, "lags": [lag(0.5), lag(0.99)]})
    }
}

/// Does a task; `read` opens all streams of a size, calls `begin`, and reads until the pass is over.
pub fn answer(task: &Task, read: impl Fn(&Task, &Size, &mut Meter) -> Result<(), Fault>) -> Result<Value, Fault> {
    let pass = |size: &Size, checks: bool| {
        let mut meter = Meter::new(task, checks);
        read(task, size, &mut meter).map(|()| meter)
    };
    let mut chosen = task.sizes.first().ok_or("no sizes")?;
    let mut answer = if task.last > 0 {
        pass(chosen, false)?.paced()
    } else {
        // A pass before all others fills caches.
        pass(chosen, false)?;
        for size in &task.sizes[1..] {
            let seconds = pass(chosen, false)?.seconds();
            if seconds * size.delta_count as f64 > task.seconds * chosen.delta_count as f64 {
                break;
            }
            chosen = size;
        }
        let check = pass(chosen, true)?.flood();
        let runs = (0..task.run_count).map(|_| Ok(pass(chosen, false)?.flood()));
        json!({"deltaCount": chosen.delta_count, "check": check, "runs": runs.collect::<Result<Vec<_>, Fault>>()?})
    };
    let serde_json = concat!("serde_json ", env!("SERDE_JSON_VERSION"));
    answer["version"] = json!(if task.is_chat { serde_json } else { env!("TUNGSTENITE_VERSION") });
    answer["memoryBytes"] = json!(peak_memory());
    Ok(answer)
}
