//! Defines the progress that a node reports to the store.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) started: u64,
    pub(crate) skipped: u64,
    pub(crate) twice: u64,
    pub(crate) late_ns: u64,
    /// The time for which the node has been without the store. In the first report after an outage, it is the length of
    /// the outage.
    pub(crate) blind_ns: u64,
    /// The number of slots that the node has started without the store, and that it has not marked yet. Other nodes may
    /// own them.
    pub(crate) unmarked: u64,
    pub(crate) limit_ns: u64,
    /// The number of nodes that share the load. Without the store, this node runs 1 / `members` of the load.
    pub(crate) members: u32,
    pub(crate) versions: u64,
    pub(crate) change: u64,
    /// The time of the report, in nanoseconds of the run. The store may have received it much later.
    pub(crate) told_ns: u64,
    pub(crate) stepped_ns: u64,
}

impl Progress {
    pub(crate) fn text(self) -> String {
        let Progress { started, skipped, twice, late_ns, blind_ns, .. } = self;
        let Progress { unmarked, limit_ns, members, versions, change, .. } = self;
        let Progress { told_ns, stepped_ns, .. } = self;
        format!(
            "{started} {skipped} {twice} {late_ns} {blind_ns} {unmarked} {limit_ns} {members} {versions} {change} {told_ns} {stepped_ns}"
        )
    }

    pub(crate) fn read(text: &str) -> Option<Progress> {
        let mut numbers = text.split(' ').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Progress {
            started: next()?,
            skipped: next()?,
            twice: next()?,
            late_ns: next()?,
            blind_ns: next()?,
            unmarked: next()?,
            limit_ns: next()?,
            members: next()?.try_into().ok()?,
            versions: next()?,
            change: next()?,
            told_ns: next()?,
            stepped_ns: next()?,
        })
    }
}
