//! JSON values, read and written without a dependency.

use std::fmt::Write;

/// The greatest nesting depth of a text that is read.
const DEEPEST: usize = 1_000;

/// A JSON value. A number keeps its text, and so all its digits.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// Makes an object: `data! { "order": 17, "path": "/cart" }`. A value is anything that becomes a [`Value`].
#[macro_export]
macro_rules! data {
    ($($name:literal : $value:expr),* $(,)?) => {
        $crate::Value::Object(vec![$(($name.to_string(), $crate::Value::from($value))),*])
    };
}

macro_rules! from_numbers {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Value {
            fn from(number: $kind) -> Value {
                Value::Number(number.to_string())
            }
        })*
    };
}
from_numbers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl From<f64> for Value {
    /// Returns the number, or null for NaN and infinity, which JSON does not have.
    fn from(number: f64) -> Value {
        if number.is_finite() { Value::Number(format!("{number:?}")) } else { Value::Null }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_string())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Value {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

impl Value {
    /// Returns the member of an object. The last one counts if there are several.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the value as a whole number of 64 bits; None if it is none.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Number(text) = self { text.parse().ok() } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Value::Number(text) = self { text.parse().ok() } else { None }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(values) = self { Some(values) } else { None }
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// Returns the nesting depth of arrays and objects.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Value::Array(values) => 1 + values.iter().map(Value::depth).max().unwrap_or(0),
            Value::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn write(&self, into: &mut String) {
        match self {
            Value::Null => into.push_str("null"),
            Value::Bool(value) => into.push_str(if *value { "true" } else { "false" }),
            Value::Number(text) => into.push_str(text),
            Value::String(text) => write_string(text, into),
            Value::Array(values) => {
                into.push('[');
                for (place, value) in values.iter().enumerate() {
                    into.push_str(if place > 0 { "," } else { "" });
                    value.write(into);
                }
                into.push(']');
            }
            Value::Object(members) => {
                into.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    into.push_str(if place > 0 { "," } else { "" });
                    write_string(name, into);
                    into.push(':');
                    value.write(into);
                }
                into.push('}');
            }
        }
    }

    /// Reads JSON. Returns None if the text is not JSON, or is nested deeper than 1 000 levels.
    pub fn parse(text: &str) -> Option<Value> {
        let mut reader = Reader { text: text.as_bytes(), place: 0 };
        let value = reader.value(0)?;
        reader.space();
        (reader.place == text.len()).then(|| value)
    }
}

impl std::fmt::Display for Value {
    /// Writes the value as JSON.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        formatter.write_str(&text)
    }
}

fn write_string(text: &str, into: &mut String) {
    into.push('"');
    for letter in text.chars() {
        match letter {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            letter if letter < ' ' => {
                let _ = write!(into, "\\u{:04x}", letter as u32);
            }
            letter => into.push(letter),
        }
    }
    into.push('"');
}

struct Reader<'a> {
    text: &'a [u8],
    place: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.get(self.place).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.place += 1;
        }
    }

    fn takes(&mut self, letter: u8) -> bool {
        self.space();
        let is_there = self.peek() == letter;
        self.place += usize::from(is_there);
        is_there
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.space();
        if depth > DEEPEST {
            return None;
        }
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Value::String),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        let is_there = self.text[self.place..].starts_with(word.as_bytes());
        self.place += word.len();
        is_there.then(|| value)
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Vec::new();
        self.place += 1;
        if self.takes(b'}') {
            return Some(Value::Object(members));
        }
        loop {
            self.space();
            if self.peek() != b'"' {
                return None;
            }
            let name = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            members.push((name, self.value(depth + 1)?));
            if !self.takes(b',') {
                return self.takes(b'}').then(|| Value::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        self.place += 1;
        if self.takes(b']') {
            return Some(Value::Array(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            if !self.takes(b',') {
                return self.takes(b']').then(|| Value::Array(values));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        self.place += 1;
        loop {
            let begin = self.place;
            while !matches!(self.peek(), b'"' | b'\\') && self.peek() >= b' ' {
                self.place += 1;
            }
            text.push_str(std::str::from_utf8(&self.text[begin..self.place]).ok()?);
            self.place += 1;
            match self.text.get(self.place - 1)? {
                b'"' => return Some(text),
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        self.place += 1;
        Some(match *self.text.get(self.place - 1)? {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            letter @ (b'"' | b'\\' | b'/') => letter as char,
            b'u' => self.unit()?,
            _ => return None,
        })
    }

    /// Reads the digits of an escape, and of the next one if both are a surrogate pair. A lone surrogate is U+FFFD.
    fn unit(&mut self) -> Option<char> {
        let first = self.hex()?;
        let is_pair = (0xd800..0xdc00).contains(&first) && self.text[self.place..].starts_with(b"\\u");
        if is_pair {
            let back = self.place;
            self.place += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            self.place = back;
        }
        Some(char::from_u32(first).unwrap_or('\u{fffd}'))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.place..self.place + 4)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        self.place += 4;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.place;
        while self.peek().is_ascii_digit() {
            self.place += 1;
        }
        (self.place > begin).then(|| ())
    }

    fn number(&mut self) -> Option<Value> {
        let begin = self.place;
        self.place += usize::from(self.peek() == b'-');
        let first = self.place;
        self.digits()?;
        if self.text[first] == b'0' && self.place > first + 1 {
            return None;
        }
        if self.peek() == b'.' {
            self.place += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.place += 1;
            self.place += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.digits()?;
        }
        Some(Value::Number(String::from_utf8_lossy(&self.text[begin..self.place]).into_owned()))
    }
}
