//! Runs the store's scripts in this process, for tests and simulations. The caller sets the store's clock.

mod data;

use super::{Store, reading, scripts, writing};
use crate::error::FleetError;
use crate::message::{Answer, FleetRun, Reply, Request};
use data::Data;
use mlua::{Function, Lua, String as Text, Table, Value as Said, Variadic};
use redis::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(crate) struct Played {
    lua: Lua,
    data: Rc<RefCell<Data>>,
    claim: Function,
    rest: Function,
}

impl Played {
    pub(crate) fn new() -> Played {
        let (lua, data) = (Lua::new(), Rc::new(RefCell::new(Data::default())));
        let commands = Rc::clone(&data);
        let call = lua.create_function(move |lua, words: Variadic<Text>| {
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            heard(lua, commands.borrow_mut().call(&words))
        });
        let redis = lua.create_table_from([("call", call.expect("a function"))]);
        lua.globals().set("redis", redis.expect("a table")).expect("room");
        let load = |script: &str| lua.load(script).into_function().expect("a script");
        let (claim, rest) = (load(scripts::CLAIM), load(scripts::REST));
        Played { lua, data, claim, rest }
    }

    pub(crate) fn call(&self, request: &Request, now_us: i64) -> Reply {
        self.data.borrow_mut().set(now_us);
        let text = writing::write("played", KEEP, request);
        self.set("KEYS", &text.keys);
        self.set("ARGV", &text.arguments);
        let is_claim = matches!(request, Request::Claim(_));
        let script = if is_claim { &self.claim } else { &self.rest };
        let said = script.call(()).unwrap_or_else(|error| panic!("{error}: {request:?}"));
        reading::read(value(said)).unwrap_or_else(|| panic!("no answer to {request:?}"))
    }

    fn set(&self, name: &str, words: &[impl AsRef<[u8]>]) {
        let words = words.iter().map(|word| self.lua.create_string(word).expect("room"));
        let table = self.lua.create_sequence_from(words).expect("a table");
        self.lua.globals().set(name, table).expect("room");
    }

    pub(crate) fn run(&self, now_us: i64) -> Option<FleetRun> {
        match self.call(&Request::Look { node: None }, now_us).answer {
            Answer::Run(run) => Some(*run),
            _ => None,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.data.borrow().bytes()
    }

    pub(crate) fn lose(&self) {
        *self.data.borrow_mut() = Data::default();
    }
}

/// Converts the result of a script as Redis does: numbers are truncated to integers, and an array ends before its first
/// nil.
fn value(said: Said) -> Value {
    match said {
        Said::Integer(number) => Value::Int(number),
        #[expect(clippy::cast_possible_truncation, reason = "as Redis does it")]
        Said::Number(number) => Value::Int(number as i64),
        Said::String(text) => Value::BulkString(text.as_bytes().to_vec()),
        Said::Table(table) => Value::Array(
            table.sequence_values().map(|said| value(said.expect("a value"))).collect(),
        ),
        _ => Value::Nil,
    }
}

fn heard(lua: &Lua, answer: Value) -> mlua::Result<Said> {
    Ok(match answer {
        Value::Int(number) => Said::Integer(number),
        Value::BulkString(bytes) => Said::String(lua.create_string(bytes)?),
        Value::Array(all) => {
            let all = all.into_iter().map(|answer| heard(lua, answer));
            let table: Table = lua.create_sequence_from(all.collect::<mlua::Result<Vec<_>>>()?)?;
            Said::Table(table)
        }
        _ => Said::Boolean(false),
    })
}

/// The store in this process at a fixed time of its clock, in microseconds.
pub(crate) struct At<'a>(pub(crate) &'a Played, pub(crate) i64);

impl Store for At<'_> {
    fn call(&mut self, request: &Request) -> Result<Reply, FleetError> {
        Ok(self.0.call(request, self.1))
    }
}
