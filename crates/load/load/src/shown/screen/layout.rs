//! Which parts of the view are shown in a terminal of a given height, and where.

use ratatui::layout::Rect;

/// A part of the view, as wide as the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Url,
    Load,
    Progress,
    Figures,
    Charts,
    Times,
    Outcomes,
    Prompt,
    Keys,
}

/// What changes the layout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    /// Something is being typed, or was said: this comes before everything else.
    pub(crate) prompt: bool,
    /// How many lines the keys need.
    pub(crate) keys: u16,
    /// The help is in the place of the charts, and of most other parts.
    pub(crate) help: bool,
}

/// All parts from above, with their heights and how important they are: 0 is the most. The charts
/// get all that is left, if it is so much.
fn parts(wishes: Wishes) -> [(Part, u16, u8); 9] {
    let unless_helping = |rank| if wishes.help { u8::MAX } else { rank };
    [
        (Part::Url, 1, 3),
        (Part::Load, 1, 7),
        (Part::Progress, 1, 2),
        (Part::Figures, 1, 1),
        (Part::Charts, 5, if wishes.help { 1 } else { 8 }),
        (Part::Times, 4, unless_helping(4)),
        (Part::Outcomes, 3, unless_helping(5)),
        (Part::Prompt, 1, if wishes.prompt { 0 } else { 6 }),
        (Part::Keys, wishes.keys, 6),
    ]
}

/// The parts that fit into an area, and where they are.
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
        let height = if part == Part::Charts { height + left } else { height };
        placed.push((part, Rect { y, height, ..area }));
        y += height;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(height: u16, wishes: Wishes) -> Vec<Part> {
        let area = Rect::new(0, 0, 80, height);
        placed(area, wishes).into_iter().map(|(part, _)| part).collect()
    }

    #[test]
    fn the_less_important_goes_first() {
        use Part::{Charts, Figures, Keys, Outcomes, Progress, Prompt, Times, Url};
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
            (12, prompted, &[Url, Progress, Figures, Times, Outcomes, Prompt, Keys]),
            (8, help, &[Url, Progress, Figures, Charts]),
        ] {
            assert_eq!(names(height, wishes), expected, "{height}");
        }
        assert_eq!(names(24, usual).len(), 9);
        assert!(!names(60, help).contains(&Times));
    }

    #[test]
    fn parts_lie_below_each_other_in_the_area() {
        for height in 0..200 {
            for flags in 0..4 {
                let wishes = Wishes { prompt: flags & 1 > 0, help: flags & 2 > 0, keys: 2 };
                let placed = placed(Rect::new(0, 0, 80, height), wishes);
                let is_dense = placed.windows(2).all(|pair| pair[0].1.bottom() == pair[1].1.y);
                let is_inside = placed.iter().all(|(_, area)| area.bottom() <= height);
                assert!(is_dense && is_inside, "{placed:?}");
            }
        }
    }
}
