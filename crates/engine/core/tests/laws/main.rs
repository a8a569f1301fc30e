//! Tests the laws of a pacer, mostly in virtual time. All tests are in one program, because one program is built much
//! faster than one program for each file.

mod asked;
mod changes;
mod claims;
mod clocks;
mod common;
mod contention;
mod corrected;
mod ends;
mod given_back;
mod habits;
mod held;
mod leases;
mod ledger;
mod oracle;
mod oracle_model;
mod oracle_steps;
mod oversleep;
mod pausing;
mod policies;
mod pollers;
mod range;
mod schedule;
mod shape_text;
mod shaped;
mod shaped_laws;
mod shapes;
mod slots;
mod stalls;
mod starts;
mod theory;
mod threshold;
mod times;
mod wakes;
