//! Records the line of the file on which each row begins.

/// `jumps` contains the index and the line of each row that does not begin one line after the previous row.
#[derive(Debug, Default)]
pub(super) struct Lines {
    count: usize,
    next: usize,
    jumps: Vec<(usize, usize)>,
}

impl Lines {
    pub(super) fn begin(&mut self, line: usize) {
        if line != self.next {
            self.jumps.push((self.count, line));
        }
        (self.count, self.next) = (self.count + 1, line + 1);
    }

    pub(super) fn of(&self, row: usize) -> usize {
        let jumps = self.jumps.partition_point(|(first, _)| *first <= row);
        let (first, line) = jumps.checked_sub(1).map_or((0, 0), |last| self.jumps[last]);
        line + row - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_the_line_that_it_began_on() {
        let begun = [1, 2, 3, 7, 8, 10];
        let mut lines = Lines::default();
        for line in begun {
            lines.begin(line);
        }
        assert_eq!(lines.jumps.len(), 3);
        assert!((0..begun.len()).map(|row| lines.of(row)).eq(begun));
    }
}
