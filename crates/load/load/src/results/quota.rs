//! Reads from the statistics of a cgroup (`cpu.stat` on Linux) how often a program used up its CPU quota.
//!
//! A quota allows a cgroup a fixed CPU time in each period, which usually lasts 100 ms. When this time is used up, no
//! thread of the cgroup or of its descendants runs until the next period begins. The quota of a pod or a service may
//! apply to an ancestor of the program's own cgroup.

use crate::console::human::float;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quota {
    /// The number of periods in which threads of the cgroup were ready to run.
    pub(crate) periods: u64,
    pub(crate) throttled: u64,
    /// The time for which threads could not run because of the quota, added up over all CPUs.
    pub(crate) time: Duration,
}

impl Quota {
    /// Parses `cpu.stat`, in which times are in microseconds in version 2 of cgroups, and in nanoseconds in version 1.
    /// Returns `None` if there is no quota.
    pub(crate) fn parse(text: &str) -> Option<Quota> {
        let number = |name: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(' '));
            fields.find(|(field, _)| *field == name)?.1.trim().parse::<u64>().ok()
        };
        let micros = number("throttled_usec").map(Duration::from_micros);
        let time = micros.or_else(|| number("throttled_time").map(Duration::from_nanos))?;
        Some(Quota { periods: number("nr_periods")?, throttled: number("nr_throttled")?, time })
    }

    pub(crate) fn share(self) -> f64 {
        float(self.throttled) / float(self.periods.max(self.throttled).max(1))
    }

    fn since(self, earlier: Quota) -> Quota {
        Quota {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            time: self.time.saturating_sub(earlier.time),
        }
    }
}

pub(crate) fn reached(now: &[Option<Quota>], earlier: &[Option<Quota>]) -> Option<Quota> {
    let both =
        now.iter().zip(earlier).filter_map(|(now, earlier)| Some((*now)?.since((*earlier)?)));
    both.filter(|quota| quota.throttled > 0).max_by_key(|quota| quota.time)
}

/// Returns the paths at which `cpu.stat` of this program's cgroups may be. The arguments are the contents of
/// `/proc/self/cgroup` and `/proc/self/mountinfo`.
pub(crate) fn files(cgroups: &str, mounts: &str) -> Vec<PathBuf> {
    let cgroups: Vec<_> = cgroups.lines().filter_map(Cgroup::parse).collect();
    let folders = mounts.lines().filter_map(Mount::parse).flat_map(|mount| {
        let its = cgroups.iter().find(|cgroup| cgroup.is_version_2 == mount.is_version_2);
        its.map(|cgroup| mount.folders(cgroup)).unwrap_or_default()
    });
    folders.map(|folder| folder.join("cpu.stat")).collect()
}

struct Cgroup<'a> {
    is_version_2: bool,
    path: &'a Path,
}

impl<'a> Cgroup<'a> {
    /// Parses `HIERARCHY:CONTROLLERS:PATH`. In version 2, the hierarchy is 0 and there are no controllers.
    fn parse(line: &'a str) -> Option<Cgroup<'a>> {
        let mut fields = line.splitn(3, ':');
        let [number, controllers, path] = [fields.next()?, fields.next()?, fields.next()?];
        let is_version_2 = number == "0" && controllers.is_empty();
        let counts = is_version_2 || has(controllers, "cpu");
        counts.then_some(Cgroup { is_version_2, path: Path::new(path) })
    }
}

struct Mount<'a> {
    is_version_2: bool,
    /// The cgroup whose directory is mounted.
    root: &'a Path,
    at: &'a Path,
}

impl<'a> Mount<'a> {
    /// Parses a line of the form `ID PARENT MAJOR:MINOR ROOT AT OPTIONS ... - TYPE SOURCE OPTIONS`.
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3).map(Path::new);
        let (root, at) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let is_version_2 = name == "cgroup2";
        let counts = is_version_2 || name == "cgroup" && has(options, "cpu");
        counts.then_some(Mount { is_version_2, root, at })
    }

    /// Returns the directories of a cgroup and of its ancestors under this mount. In a container, the mounted cgroup
    /// may be the container's own. Its path outside of the container is then unknown, so only the mounted directory is
    /// returned.
    fn folders(&self, cgroup: &Cgroup<'_>) -> Vec<PathBuf> {
        let below = cgroup.path.strip_prefix(self.root).unwrap_or(Path::new(""));
        let is_outside = below.components().any(|part| part.as_os_str() == "..");
        let below = if is_outside { Path::new("") } else { below };
        below.ancestors().map(|below| self.at.join(below)).collect()
    }
}

fn has(list: &str, member: &str) -> bool {
    list.split(',').any(|other| other == member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(periods: u64, throttled: u64, ms: u64) -> Quota {
        Quota { periods, throttled, time: Duration::from_millis(ms) }
    }

    #[test]
    fn statistics_of_both_versions_are_read() {
        let version_2 = "usage_usec 2143\nuser_usec 1100\nsystem_usec 1043\ncore_sched.force_idle_usec 0\n\
                         nr_periods 80\nnr_throttled 41\nthrottled_usec 3200000\nnr_bursts 0\nburst_usec 0\n";
        let version_1 = "nr_periods 80\nnr_throttled 41\nthrottled_time 3200000000\nnr_bursts 0\nburst_time 0\n";
        for text in [version_2, version_1] {
            assert_eq!(Quota::parse(text), Some(quota(80, 41, 3_200)), "{text}");
        }
        for text in [
            "",
            "usage_usec 2143\nuser_usec 1100\nsystem_usec 1043\n",
            "nr_periods 80\nnr_throttled x\nthrottled_usec 3200000\n",
            "nr_periods 80\nnr_throttled 41\n",
            "nr_periods\nnr_throttled 41\nthrottled_usec 1\n",
        ] {
            assert_eq!(Quota::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_quota_that_took_most_time_is_reported() {
        let some = |periods, throttled, ms| Some(quota(periods, throttled, ms));
        for (now, earlier, expected) in [
            (vec![], vec![], None),
            (vec![some(90, 41, 5)], vec![some(80, 41, 5)], None),
            (vec![some(90, 43, 9)], vec![some(80, 41, 5)], some(10, 2, 4)),
            (vec![some(9, 1, 1), some(9, 2, 7), None], vec![some(0, 0, 0); 3], some(9, 2, 7)),
            // The cgroup may have received or lost its quota during the run.
            (vec![some(9, 1, 1)], vec![None], None),
            (vec![None], vec![some(9, 1, 1)], None),
            // The program may have been moved to another cgroup with lower counters during the run.
            (vec![some(1, 1, 1)], vec![some(9, 2, 7)], None),
        ] {
            assert_eq!(reached(&now, &earlier), expected, "{now:?} {earlier:?}");
        }
        assert_eq!((quota(80, 20, 1).share(), quota(0, 0, 0).share()), (0.25, 0.0));
    }

    fn told(cgroups: &str, mounts: &str) -> Vec<String> {
        let files = files(cgroups, mounts);
        files.iter().map(|file| file.to_str().unwrap().replace("/cpu.stat", "")).collect()
    }

    #[test]
    fn cgroups_are_found() {
        let version_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 \
                         rw,nsdelegate,memory_recursiveprot";
        let version_1 = "33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
                         34 32 0:30 / /sys/fs/cgroup/memory rw,relatime shared:10 - cgroup cgroup rw,memory";
        for (cgroups, mounts, folders) in [
            (
                "0::/system.slice/load.service\n",
                version_2,
                &[
                    "/sys/fs/cgroup/system.slice/load.service",
                    "/sys/fs/cgroup/system.slice",
                    "/sys/fs/cgroup",
                ][..],
            ),
            ("0::/\n", version_2, &["/sys/fs/cgroup"]),
            // This process was moved out of its namespace.
            ("0::/../other\n", version_2, &["/sys/fs/cgroup"]),
            // This is a container with cgroups of version 1, which sees only its own cgroup.
            (
                "5:memory:/docker/0123\n4:cpu,cpuacct:/docker/0123\n1:name=systemd:/docker/0123\n0::/system.slice\n",
                "99 98 0:29 /docker/0123 /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:9 - cgroup cgroup rw,cpu,cpuacct",
                &["/sys/fs/cgroup/cpu,cpuacct"],
            ),
            // The container may have created a cgroup below its own.
            (
                "4:cpuacct,cpu:/docker/0123/a:b\n",
                "99 98 0:29 /docker/0123 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpuacct,cpu",
                &["/sys/fs/cgroup/cpu/a:b", "/sys/fs/cgroup/cpu"],
            ),
            // The path that the container sees may belong to another namespace.
            (
                "4:cpu:/kubepods/pod1/c1\n",
                "99 98 0:29 /docker/0123 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu",
                &["/sys/fs/cgroup/cpu"],
            ),
            (
                "4:cpu,cpuacct:/kubepods/pod1\n3:cpuset:/x\n",
                version_1,
                &[
                    "/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1",
                    "/sys/fs/cgroup/cpu,cpuacct/kubepods",
                    "/sys/fs/cgroup/cpu,cpuacct",
                ],
            ),
            // Both versions are mounted. Only cgroups of version 1 have quotas.
            (
                "1:cpu:/\n0::/\n",
                "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw",
                &["/cg/cpu", "/cg/unified"],
            ),
            ("", version_2, &[]),
            ("0::/\n", "", &[]),
            ("nonsense\n1:cpu\n", "nonsense - cgroup2\n1 2 3 / /x - cgroup2", &[]),
        ] {
            assert_eq!(told(cgroups, mounts), folders, "{cgroups}");
        }
    }
}
