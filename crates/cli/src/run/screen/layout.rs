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

/// All parts from above, with their heights and how important they are: 0 is the most. The charts
/// get all that is left, if it is so much.
const PARTS: [(Part, u16, u8); 9] = [
    (Part::Url, 1, 3),
    (Part::Load, 1, 7),
    (Part::Progress, 1, 2),
    (Part::Figures, 1, 1),
    (Part::Charts, 5, 8),
    (Part::Times, 4, 4),
    (Part::Outcomes, 3, 5),
    (Part::Prompt, 1, 6),
    (Part::Keys, 1, 6),
];

/// The parts that fit into an area, and where they are. What is being typed, or said, comes before
/// everything else.
pub(crate) fn parts(area: Rect, is_prompted: bool) -> Vec<(Part, Rect)> {
    let rank = |part: &Part, rank| if is_prompted && *part == Part::Prompt { 0 } else { rank };
    let mut by_rank = PARTS.map(|(part, height, ranked)| (rank(&part, ranked), part, height));
    by_rank.sort_by_key(|&(rank, ..)| rank);
    let mut left = area.height;
    let mut chosen = Vec::new();
    for (_, part, height) in by_rank {
        if height <= left {
            left -= height;
            chosen.push(part);
        }
    }
    let mut y = area.y;
    let mut placed = Vec::new();
    for (part, height, _) in PARTS.into_iter().filter(|(part, ..)| chosen.contains(part)) {
        let height = if part == Part::Charts { height + left } else { height };
        placed.push((part, Rect { y, height, ..area }));
        y += height;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(height: u16, is_prompted: bool) -> Vec<Part> {
        let area = Rect::new(0, 0, 80, height);
        parts(area, is_prompted).into_iter().map(|(part, _)| part).collect()
    }

    #[test]
    fn the_less_important_goes_first() {
        use Part::{Figures, Keys, Outcomes, Progress, Prompt, Times, Url};
        for (height, is_prompted, expected) in [
            (0, true, &[][..]),
            (1, false, &[Figures]),
            (1, true, &[Prompt]),
            (2, true, &[Figures, Prompt]),
            (3, false, &[Url, Progress, Figures]),
            (7, false, &[Url, Progress, Figures, Times]),
            (12, true, &[Url, Progress, Figures, Times, Outcomes, Prompt, Keys]),
        ] {
            assert_eq!(names(height, is_prompted), expected, "{height}");
        }
        assert_eq!(names(24, false).len(), PARTS.len());
    }

    #[test]
    fn parts_lie_below_each_other_in_the_area() {
        for height in 0..200 {
            let placed = parts(Rect::new(0, 0, 80, height), height % 2 == 0);
            let ends = placed.windows(2).all(|pair| pair[0].1.bottom() == pair[1].1.y);
            assert!(ends && placed.iter().all(|(_, area)| area.bottom() <= height), "{placed:?}");
        }
    }
}
