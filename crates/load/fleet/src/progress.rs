//! The progress that a node reports to the store.

/// A node's counts, and what it knows of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Slots that were started.
    pub(crate) fired: u64,
    /// Slots that a late policy has skipped.
    pub(crate) shed: u64,
    /// Slots that this node has started and another node owns.
    pub(crate) twice: u64,
    /// How late the node's oldest slot is.
    pub(crate) late_ns: u64,
    /// For how long the node has run without the store, or had before this report.
    pub(crate) blind_ns: u64,
    /// Slots that were started without the store, which does not know of them yet. Other nodes may own them.
    pub(crate) unmarked: u64,
    /// For how long the node goes on without the store.
    pub(crate) limit_ns: u64,
    /// How many nodes share the load: without the store, this one runs its part of it.
    pub(crate) members: u32,
    /// How many versions of the load the node knows.
    pub(crate) versions: u64,
    /// The number of the change that made the last of these versions.
    pub(crate) change: u64,
    /// When the node reported this, as a moment of the run in nanoseconds. The store may have received it much later.
    pub(crate) told_ns: u64,
    /// By how much the node's clock was set to follow the store's, in total.
    pub(crate) stepped_ns: u64,
}

impl Progress {
    pub(crate) fn text(self) -> String {
        let Progress { fired, shed, twice, late_ns, blind_ns, .. } = self;
        let Progress { unmarked, limit_ns, members, versions, change, .. } = self;
        let Progress { told_ns, stepped_ns, .. } = self;
        format!(
            "{fired} {shed} {twice} {late_ns} {blind_ns} {unmarked} {limit_ns} {members} {versions} {change} {told_ns} {stepped_ns}"
        )
    }

    /// None if it is not of this form.
    pub(crate) fn read(text: &str) -> Option<Progress> {
        let mut numbers = text.split(' ').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Progress {
            fired: next()?,
            shed: next()?,
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
