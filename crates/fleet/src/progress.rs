//! How far a node is, as it tells the store.

/// Slots of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Started.
    pub(crate) fired: u64,
    /// Skipped by a late policy.
    pub(crate) shed: u64,
    /// Started, but owned by another node.
    pub(crate) twice: u64,
    /// Its oldest slot is late by so many nanoseconds.
    pub(crate) late_ns: u64,
    /// It runs without the store for so many nanoseconds, or did so before it told this.
    pub(crate) blind_ns: u64,
    /// Started without the store, which does not know of it yet. They may be another's.
    pub(crate) unmarked: u64,
    /// It goes on without the store for so many nanoseconds.
    pub(crate) limit_ns: u64,
    /// So many nodes share the load, of which it runs its part without the store.
    pub(crate) members: u32,
    /// It knows so many versions of the load.
    pub(crate) versions: u64,
    /// The last of them.
    pub(crate) change: u64,
    /// When it told this, as a moment of the run in nanoseconds. The store may have heard it much later.
    pub(crate) told_ns: u64,
}

impl Progress {
    pub(crate) fn text(self) -> String {
        let Progress { fired, shed, twice, late_ns, blind_ns, .. } = self;
        let Progress { unmarked, limit_ns, members, versions, change, told_ns, .. } = self;
        format!(
            "{fired} {shed} {twice} {late_ns} {blind_ns} {unmarked} {limit_ns} {members} {versions} {change} {told_ns}"
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
        })
    }
}
