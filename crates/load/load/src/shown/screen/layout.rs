//! Determines where the parts of the view are in a terminal of a given height.

use super::grid::Rect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Url,
    Load,
    Progress,
    Figures,
    Verdict,
    Charts,
    Times,
    Outcomes,
    /// The labels, statuses and errors. They get only the lines that the other parts leave.
    Breakdown,
    Prompt,
    Keys,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    /// Whether a text is being typed or a message is shown. The line for it then has precedence over all other parts.
    pub(crate) prompt: bool,
    pub(crate) keys: u16,
    pub(crate) help: bool,
}

/// The maximum height of the charts in lines. Lines beyond this height are left for the breakdown.
const CHARTS: u16 = 20;

/// Returns the parts from top to bottom, each with its minimum height and its rank. The part with rank 0 is the most
/// important one.
fn parts(wishes: Wishes) -> [(Part, u16, u8); 11] {
    let unless_helping = |rank| if wishes.help { u8::MAX } else { rank };
    [
        (Part::Url, 1, 3),
        (Part::Load, 1, 8),
        (Part::Progress, 1, 2),
        (Part::Figures, 1, 1),
        (Part::Verdict, 1, unless_helping(6)),
        (Part::Charts, 5, if wishes.help { 1 } else { 9 }),
        (Part::Times, 4, unless_helping(4)),
        (Part::Outcomes, 3, unless_helping(5)),
        (Part::Breakdown, 0, unless_helping(10)),
        (Part::Prompt, 1, if wishes.prompt { 0 } else { 7 }),
        (Part::Keys, wishes.keys, 7),
    ]
}

pub(crate) fn placed(area: Rect, wishes: Wishes) -> Vec<(Part, Rect)> {
    let parts = parts(wishes);
    let of = |wanted| parts.into_iter().filter(move |&(.., rank)| rank == wanted);
    let by_rank = (0..u8::MAX).flat_map(of);
    let mut left = area.height;
    let mut chosen = Vec::new();
    for (part, height, _) in by_rank {
        if height <= left {
            left -= height;
            chosen.push(part);
        }
    }
    let mut y = area.y;
    let mut placed = Vec::new();
    for (part, height, _) in parts.into_iter().filter(|(part, ..)| chosen.contains(part)) {
        let most = match part {
            Part::Charts if !wishes.help => CHARTS,
            Part::Charts | Part::Breakdown => area.height,
            _ => height,
        };
        let more = left.min(most.saturating_sub(height));
        left -= more;
        let height = height + more;
        placed.push((part, Rect { y, height, ..area }));
        y += height;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(height: u16, wishes: Wishes) -> Vec<Part> {
        let area = Rect { width: 80, height, ..Rect::default() };
        let placed = placed(area, wishes).into_iter().filter(|(_, area)| area.height > 0);
        placed.map(|(part, _)| part).collect()
    }

    #[test]
    fn the_less_important_goes_first() {
        use Part::{Charts, Figures, Keys, Outcomes, Progress, Prompt, Times, Url, Verdict};
        let usual = Wishes { keys: 1, ..Wishes::default() };
        let prompted = Wishes { prompt: true, ..usual };
        let help = Wishes { help: true, ..usual };
        for (height, wishes, expected) in [
            (0, prompted, &[][..]),
            (1, usual, &[Figures]),
            (1, prompted, &[Prompt]),
            (2, prompted, &[Figures, Prompt]),
            (3, usual, &[Url, Progress, Figures]),
            (7, usual, &[Url, Progress, Figures, Times]),
            (13, prompted, &[Url, Progress, Figures, Verdict, Times, Outcomes, Prompt, Keys]),
            (8, help, &[Url, Progress, Figures, Charts]),
        ] {
            assert_eq!(names(height, wishes), expected, "{height}");
        }
        assert_eq!(names(24, usual).len(), 10);
        assert!(!names(60, help).contains(&Times));
    }

    #[test]
    fn a_high_terminal_shows_the_breakdown_and_no_higher_charts() {
        let wishes = Wishes { keys: 1, ..Wishes::default() };
        let height = |terminal, wanted| {
            let placed = placed(Rect { width: 200, height: terminal, ..Rect::default() }, wishes);
            placed.iter().find(|(part, _)| *part == wanted).unwrap().1.height
        };
        let heights = |terminal| [Part::Charts, Part::Breakdown].map(|part| height(terminal, part));
        assert_eq!([24, 34, 40, 60].map(heights), [[10, 0], [20, 0], [20, 6], [20, 26]]);
    }

    #[test]
    fn parts_lie_below_each_other_in_the_area() {
        for height in 0..200 {
            for flags in 0..4 {
                let (prompt, help) = (flags & 1 > 0, flags & 2 > 0);
                let wishes = Wishes { prompt, help, keys: 2 };
                let placed = placed(Rect { width: 80, height, ..Rect::default() }, wishes);
                let is_dense = placed.windows(2).all(|pair| pair[0].1.bottom() == pair[1].1.y);
                let is_inside = placed.iter().all(|(_, area)| area.bottom() <= height);
                assert!(is_dense && is_inside, "{placed:?}");
            }
        }
    }
}
