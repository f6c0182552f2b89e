//! Events, their ids and their receipts.

use crate::{Error, Value};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    params: Vec<(String, Value)>,
}

impl Event {
    /// Makes an event without data.
    pub fn new(name: &str) -> Event {
        Event { params: vec![("event".into(), name.into())] }
    }

    /// Makes an event with data: an object, see [`crate::data!`].
    pub fn with(name: &str, data: Value) -> Event {
        Event::new(name).set("data", data)
    }

    /// Sets the id by which the daemon recognises a repeat (Behaviour Q7). Without it the client makes a UUIDv7.
    pub fn id(self, id: &str) -> Event {
        self.set("id", id.into())
    }

    /// Sets the key: events of one key keep their order also where several batches are in flight.
    pub fn key(self, key: &str) -> Event {
        self.set("key", key.into())
    }

    /// Sets the time of the event. Without it the daemon sets the time at which it receives the event.
    pub fn time(self, time: SystemTime) -> Event {
        self.set("time", text_of(time).into())
    }

    /// Sets the only dispatchers that get the event. Without them the event follows the routes.
    pub fn dispatchers(self, dispatchers: &[&str]) -> Event {
        self.set("dispatchers", Value::from(dispatchers.to_vec()))
    }

    /// Sets the time from its receipt after which the event expires, in whole milliseconds.
    pub fn ttl(self, ttl: Duration) -> Event {
        self.set("ttl_ms", ttl.as_millis().into())
    }

    /// Sets a member of the params of `track`.
    pub fn set(mut self, name: &str, value: Value) -> Event {
        self.params.retain(|(key, _)| key != name);
        self.params.push((name.into(), value));
        self
    }

    /// Returns the params of `track`, with an id.
    pub(crate) fn params(self) -> Value {
        let has_id = self.params.iter().any(|(name, _)| name == "id");
        let event = if has_id { self } else { self.id(&new_id()) };
        Value::Object(event.params)
    }
}

/// Returns a time as text of RFC 3339, in milliseconds. A time before 1970 is 1970.
pub fn text_of(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = ((since.as_secs() / 86_400) as i64, since.as_secs() % 86_400);
    // Converts a number of days to a civil date. Years begin in March, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// The receipt of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub id: String,
    /// The event's sequence number in the daemon; None if no dispatcher takes it.
    pub seq: Option<i64>,
    /// True if the daemon had stored this id before: by this call's first attempt, or by another event with the same id. That event may
    /// since have been delivered or purged, or have become a dead letter.
    pub duplicate: bool,
    /// True if no dispatcher takes the event.
    pub unrouted: bool,
}

impl Receipt {
    pub(crate) fn read(result: &Value) -> Result<Receipt, Error> {
        let seq = result.get("seq").filter(|seq| **seq != Value::Null);
        match (result.get("id").and_then(Value::as_str), seq.map(Value::as_i64)) {
            (None, _) | (_, Some(None)) => Err(Error::local("bad_answer", "the result of track is malformed")),
            (Some(id), seq) => Ok(Receipt {
                id: id.to_string(),
                seq: seq.flatten(),
                duplicate: is_true(result, "duplicate"),
                unrouted: is_true(result, "unrouted"),
            }),
        }
    }
}

fn is_true(result: &Value, name: &str) -> bool {
    result.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// The receipt of events that are stored together.
#[derive(Clone, Debug, PartialEq)]
pub struct ManyReceipt {
    pub ids: Vec<String>,
    /// The lowest and the highest of their sequence numbers; None if all are unrouted.
    pub first_seq: Option<i64>,
    pub last_seq: Option<i64>,
    pub duplicates: i64,
    pub unrouted: i64,
}

impl ManyReceipt {
    pub(crate) fn read(result: &Value) -> Result<ManyReceipt, Error> {
        let ids = result.get("ids").and_then(Value::as_array);
        let ids = ids.ok_or_else(|| Error::local("bad_answer", "the result of track_many is malformed"))?;
        let number = |name| result.get(name).and_then(Value::as_i64);
        Ok(ManyReceipt {
            ids: ids.iter().filter_map(Value::as_str).map(String::from).collect(),
            first_seq: number("first_seq"),
            last_seq: number("last_seq"),
            duplicates: number("duplicates").unwrap_or(0),
            unrouted: number("unrouted").unwrap_or(0),
        })
    }
}

/// The state of the random numbers, and the last id.
struct Ids {
    process: u32,
    chance: [u64; 2],
    milliseconds: u64,
    /// The 12 bits after the time, and the 62 bits after those.
    high: u64,
    low: u64,
}

static IDS: Mutex<Ids> = Mutex::new(Ids { process: 0, chance: [0; 2], milliseconds: 0, high: 0, low: 0 });

/// Returns a UUIDv7 (RFC 9562) that is greater than all that this process has made before.
pub fn new_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let mut ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
    if ids.process != std::process::id() {
        ids.seed();
    }
    let random = ids.next();
    if now > ids.milliseconds {
        ids.milliseconds = now;
        ids.high = ids.next() & 0x7ff; // the first bit is 0, so that counting on does not overflow
        ids.low = random >> 2;
    } else {
        ids.low += 1 + (random & 0xffff_ffff);
        ids.high += ids.low >> 62;
        ids.low &= (1 << 62) - 1;
        ids.milliseconds += ids.high >> 12;
        ids.high &= 0xfff;
    }
    let text = format!("{:016x}{:016x}", ids.milliseconds << 16 | 7 << 12 | ids.high, 2 << 62 | ids.low);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// Returns a random number between 0 and 1.
pub(crate) fn chance() -> f64 {
    let mut ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
    if ids.process != std::process::id() {
        ids.seed();
    }
    (ids.next() >> 11) as f64 / (1u64 << 53) as f64
}

impl Ids {
    /// Takes random bits from the system: forked processes must not repeat each other's numbers.
    fn seed(&mut self) {
        let mut bytes = [0; 16];
        let is_read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).is_ok();
        for (place, word) in bytes.chunks_exact(8).enumerate() {
            let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
            self.chance[place] = if is_read { word } else { RandomState::new().build_hasher().finish() };
        }
        self.chance[0] |= 1;
        self.process = std::process::id();
    }

    /// Returns the next random number of xorshift128+.
    fn next(&mut self) -> u64 {
        let [mut a, b] = self.chance;
        a ^= a << 23;
        self.chance = [b, a ^ b ^ (a >> 18) ^ (b >> 5)];
        self.chance[1].wrapping_add(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_are_sevens() {
        let ids: Vec<String> = (0..2_000).map(|_| new_id()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.len() == 36 && &id[14..15] == "7" && "89ab".contains(&id[19..20])));
    }

    #[test]
    fn times_are_text_of_rfc_3339() {
        let time = |seconds, millis: u32| text_of(UNIX_EPOCH + Duration::new(seconds, millis * 1_000_000));
        assert_eq!(time(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(951_782_399, 7), "2000-02-28T23:59:59.007Z");
        assert_eq!(time(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(time(1_772_323_199, 0), "2026-02-28T23:59:59.000Z");
        assert_eq!(time(1_772_323_200, 0), "2026-03-01T00:00:00.000Z");
    }
}
