//! Defines the distributions of times that a criterion can name.

use super::words::{look_up, name_of};
use crate::load::own_times::Part;
use crate::results::confidence::{Batched, Confidence};
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Wait,
    Service,
    Response,
    Setup,
    Of(Part),
}

impl Times {
    pub(crate) const ALL: [(&str, Times); 10] = [
        ("wait", Times::Wait),
        ("service", Times::Service),
        ("response", Times::Response),
        ("setup", Times::Setup),
        ("first-byte", Times::Of(Part::FirstByte)),
        ("first-item", Times::Of(Part::FirstItem)),
        ("first-item-response", Times::Of(Part::FirstItemResponse)),
        ("item-gap", Times::Of(Part::ItemGap)),
        ("sending", Times::Of(Part::Sending)),
        ("reading", Times::Of(Part::Reading)),
    ];

    pub(crate) fn named(name: &str) -> Option<Times> {
        look_up(&Times::ALL, &name.replace(' ', "-"))
    }

    pub(crate) fn without_waiting(self) -> Times {
        match self {
            Times::Response => Times::Service,
            Times::Of(Part::FirstItemResponse) => Times::Of(Part::FirstItem),
            other => other,
        }
    }

    pub(crate) fn is_in_batches(self) -> bool {
        matches!(self, Times::Wait | Times::Service | Times::Response)
    }

    pub(crate) fn batched<'run>(self, confidence: &'run Confidence<'run>) -> Option<Batched<'run>> {
        match self {
            Times::Wait => Some(confidence.wait()),
            Times::Service => Some(confidence.service()),
            Times::Response => Some(confidence.response()),
            Times::Setup | Times::Of(_) => None,
        }
    }
}

impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Times::ALL, *self))
    }
}

#[cfg(test)]
mod tests {
    use crate::judged::criteria::Figures;
    use crate::judged::criteria::tests::{nothing, read, times};
    use crate::load::own_times::{OwnTimes, Part};
    use crate::results::stats::OperationStats;

    #[test]
    fn parts_of_answers_have_times_if_they_were_taken() {
        let stats = OperationStats::new();
        let of = |part, ms| OwnTimes { part, times: times([ms; 100]), untimed: 0 };
        let own = [
            of(Part::FirstItem, 300),
            of(Part::FirstItemResponse, 700),
            OwnTimes { part: Part::ItemGap, times: times([]), untimed: 0 },
        ];
        let figures = Figures { own: &own, ..nothing(&stats) };
        let missed = |text: &str| read(text).check(&figures).map(|missed| missed.to_string());
        for holds in ["p99 first-item < 301ms", "count first-item = 100", "count item-gap = 0"] {
            assert_eq!(missed(holds), None, "{holds}");
        }
        for (text, told) in [
            ("p99 first-item < 300ms", "p99 first-item is 300ms, wanted < 300ms"),
            (
                "p99 first-byte < 1s",
                "p99 first-byte is unknown (no such time was recorded), wanted < 1s",
            ),
            (
                "p50 item-gap < 1s",
                "p50 item-gap is unknown (no such time was recorded), wanted < 1s",
            ),
            (
                "count first-byte < 1",
                "count first-byte is unknown (no such time was recorded), wanted < 1",
            ),
        ] {
            assert_eq!(missed(text).as_deref(), Some(told));
        }
        // A late start delays the send of the request, so it does not change the time from the send to the first item.
        let late = read("p99 first-item-response < 500ms");
        assert!(late.check(&figures).is_some() && late.holds_without_waiting(&figures));
        assert!(late.breaks_above_a_rate() && !late.names_load());
    }
}
