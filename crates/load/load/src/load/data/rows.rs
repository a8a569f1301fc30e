//! Gives the rows of a data file to the calls of a target.

use super::args::{DataArgs, DataOrder};
use super::order::Order;
use super::table::Data;
use crate::load::slot::Slot;
use std::path::Path;

/// The rows of a data file: CSV, whose first line names the columns, or one JSON object per line. The number of a slot
/// determines its row, so all shards and nodes of a load use the same row for a slot. The file is read once. To take
/// the name of the file from command-line options, use [`DataArgs`](crate::DataArgs).
///
/// # Examples
///
/// ```
/// use nanopace_load::{Done, Failure, Load, Rows, Slot};
///
/// # fn main() -> Result<(), nanopace_load::LoadError> {
/// let path = std::env::temp_dir().join(format!("users-{}.csv", std::process::id()));
/// std::fs::write(&path, "user,city\nada,London\nemmy,Göttingen\n").unwrap();
/// let rows = Rows::read(&path)?;
/// # std::fs::remove_file(&path).unwrap();
/// let call = move |slot: Slot| match rows.of(slot).get("city") {
///     Some("London") => Ok(Done::new().label("first row")),
///     Some(_) => Ok(Done::new().label("second row")),
///     None => Err(Failure::new("no such column")),
/// };
/// let report = Load::new("1k/s".parse()?).requests(100).run_blocking(call)?;
/// let counts: Vec<_> = report.labels().map(|calls| calls.completed()).collect();
/// assert_eq!(counts, [50, 50]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Rows(Data);

/// The row that one slot uses. For an example, see [`Rows`].
#[derive(Clone, Copy, Debug)]
pub struct Row<'rows> {
    data: &'rows Data,
    row: usize,
}

impl Rows {
    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Rows> {
        let mut data = super::of_file(path)?;
        data.order = Order::new(DataOrder::default(), data.count() as u64, 0);
        Rows::checked(data)
    }

    pub(crate) fn of_args(args: &DataArgs) -> anyhow::Result<Option<Rows>> {
        super::read(args, 0, 1)?.map(Rows::checked).transpose()
    }

    fn checked(data: Data) -> anyhow::Result<Rows> {
        for column in 0..data.columns().len() {
            data.check(
                column,
                |value| str::from_utf8(value).is_ok(),
                "a string, because it is not UTF-8",
            )?;
        }
        Ok(Rows(data))
    }

    /// Returns the row of a slot. In the default order, the slot after the last row uses the first row again.
    #[must_use]
    pub fn of(&self, slot: Slot) -> Row<'_> {
        Row { data: &self.0, row: self.0.row_of_slot(slot.number()) }
    }

    /// Returns the names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        self.0.columns()
    }

    pub(crate) fn most_slots(&self) -> Option<u64> {
        self.0.most_slots()
    }
}

impl<'rows> Row<'rows> {
    /// Returns the value in the column with this name, or `None` if there is no such column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&'rows str> {
        let value = self.data.value(self.row, self.data.column(column)?);
        // `Rows::checked` has verified that all values are UTF-8.
        str::from_utf8(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::DataEnd;
    use super::*;

    fn rows(text: &[u8], order: DataOrder, end: DataEnd) -> anyhow::Result<Rows> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, text).unwrap();
        let args = DataArgs { data: Some(path), data_order: order, data_end: end };
        Rows::of_args(&args).map(Option::unwrap)
    }

    fn values(rows: &Rows, slots: u64) -> Vec<&str> {
        let of = |number| rows.of(Slot { number, ..Slot::ALONE });
        (0..slots).map(|number| of(number).get("a").unwrap()).collect()
    }

    #[test]
    fn each_slot_has_the_row_of_its_number() {
        let text = b"b,a\n1,x\n2,y\n3,z\n";
        let wrapped = rows(text, DataOrder::Sequential, DataEnd::Wrap).unwrap();
        assert_eq!(values(&wrapped, 5), ["x", "y", "z", "x", "y"]);
        assert_eq!((wrapped.most_slots(), wrapped.of(Slot::ALONE).get("c")), (None, None));
        let shuffled = rows(text, DataOrder::Shuffled, DataEnd::Stop).unwrap();
        let mut once = values(&shuffled, 3);
        once.sort_unstable();
        assert_eq!((once, shuffled.most_slots()), (vec!["x", "y", "z"], Some(3)));
        assert_eq!(Rows::of_args(&DataArgs::default()).unwrap().map(|_| ()), None);
    }

    #[test]
    fn a_value_that_is_no_string_is_rejected_with_its_place() {
        let error = rows(b"a\nx\n\xff\n", DataOrder::default(), DataEnd::default()).unwrap_err();
        let expected = "--data: row 2 (line 3) column \"a\": \"\u{fffd}\" can't be in a string, because it is not UTF-8";
        assert_eq!(error.to_string(), expected);
    }
}
