//! The units as a user's systemd runs them, in namespaces of their own: with a made-up load, battery and database of packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{attempt, is_root, is_there, skip, succeed};

use super::Home;

/// A control group for everything that the test starts, below the one mount of version 2.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let found = attempt(Command::new("findmnt").args(["-rn", "-t", "cgroup2", "-o", "TARGET"])).ok()?;
        let group = Path::new(found.lines().next()?).join(format!("coldstart-test-{}", std::process::id()));
        fs::create_dir(&group).ok().map(|()| Self(group))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = Command::new("find").arg(&self.0).args(["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]).output();
    }
}

/// Runs in the namespaces: what the machine shows is made up, and a manager of the user is started.
const INSIDE: &str = r#"
set -e
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run/systemd
mkdir -m 700 /run/systemd/system /run/systemd/mine
mount --bind "$HOME/dpkg" /var/lib/dpkg
mount --bind "$HOME/supplies" /sys/class/power_supply
mount --bind "$HOME/loadavg" /proc/loadavg
for file in io memory; do
    if [ -e /proc/pressure/$file ]; then mount --bind "$HOME/pressure" /proc/pressure/$file; fi
done
export XDG_RUNTIME_DIR=/run/systemd/mine
unset DBUS_SESSION_BUS_ADDRESS
for systemd in /usr/lib/systemd/systemd /lib/systemd/systemd; do [ -x $systemd ] && break; done
SYSTEMD_LOG_TARGET=console $systemd --user >"$HOME/log" 2>&1 &

show() { systemctl --user show "$1" --value -p "$2"; }
until_ended() { # UNIT SECONDS LAST-START: prints the unit's next result and code
    tries=$(($2 * 10))
    while [ $tries -gt 0 ]; do
        if [ "$(show "$1" ExecMainExitTimestampMonotonic)" -gt "$3" ] 2>/dev/null && [ "$(show "$1" ActiveState)" != active ]; then
            echo "$4 $(show "$1" Result) $(show "$1" ExecMainStatus)"
            return
        fi
        sleep 0.1
        tries=$((tries - 1))
    done
    echo "$4 did not run: $(show "$1" ActiveState) $(show "$1" SubState)"
}
resident() { echo "$1" $(fincore --bytes --noheadings --output RES "$HOME/my app"); }

resident before
until_ended coldstart-login.service 60 0 login
resident after
last=$(show coldstart-login.service ExecMainExitTimestampMonotonic)
mkdir "$HOME/supplies/BAT0"
echo Battery >"$HOME/supplies/BAT0/type"
echo Discharging >"$HOME/supplies/BAT0/status"
"$COLDSTART" pagecache evict --sync "$HOME/my app" >/dev/null
systemctl --user start coldstart-login.service
until_ended coldstart-login.service 60 "$last" battery
resident battery
echo "path $(show coldstart-refresh.path ActiveState) $(show coldstart-refresh.path SubState)"
echo "service $(show coldstart-refresh.service ExecMainStartTimestampMonotonic)"
cp "$HOME/dpkg/status" "$HOME/dpkg/status-new"
mv "$HOME/dpkg/status-new" "$HOME/dpkg/status"
until_ended coldstart-refresh.service 120 0 refresh
echo "path $(show coldstart-refresh.path ActiveState) $(show coldstart-refresh.path SubState)"
systemctl --user exit
"#;

#[test]
fn a_users_systemd_reads_plans_after_login_and_refreshes_them_after_an_upgrade() {
    if !is_root() {
        return;
    }
    let systemd = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"].iter().any(|path| Path::new(path).exists());
    if !systemd || !["unshare", "systemctl", "fincore", "findmnt"].into_iter().all(is_there) {
        return skip("needs systemd and util-linux");
    }
    if !["/sys/class/power_supply", "/var/lib/dpkg"].iter().all(|directory| Path::new(directory).is_dir()) {
        return skip("needs a directory of dpkg's database, and a kernel that knows power supplies");
    }
    let Some(group) = Group::new() else { return skip("control groups of version 2 are not mounted") };
    let home = Home::alone();
    home.install_with(&home.program, &["--place", "wrapper", "--at-login", "--after-upgrades"]);
    for directory in ["dpkg", "dpkg/info", "dpkg/updates", "supplies"] {
        fs::create_dir(home.at(directory)).unwrap();
    }
    fs::write(home.at("dpkg/status"), "").unwrap();
    fs::write(home.at("loadavg"), "0.00 0.00 0.00 1/100 1\n").unwrap();
    let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
    fs::write(home.at("pressure"), pressure).unwrap();
    // What the units print goes to the log of the manager.
    let settings = "[Manager]\nDefaultStandardOutput=inherit\nDefaultStandardError=inherit\n";
    fs::write(home.at(".config/systemd/user.conf"), settings).unwrap();
    home.succeeds(&["pagecache", "evict", "--sync", home.program.to_str().unwrap()]);
    // A stale plan of another program, for the refresh.
    let other = home.program("other");
    home.install_with(&other, &["--place", "upgrades"]);
    home.change(&other);

    let unshare = "exec timeout 240 unshare --mount --pid --cgroup --fork --kill-child --mount-proc sh -c \"$1\"";
    let said = succeed(
        Command::new("sh")
            .args(["-c", &format!("echo $$ >\"$0/cgroup.procs\" && {unshare}")])
            .arg(&group.0)
            .arg(INSIDE)
            .env("HOME", home.directory.path())
            .env("COLDSTART", env!("CARGO_BIN_EXE_coldstart"))
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME"),
    );
    let lines: Vec<&str> = said.lines().collect();
    let has = |line: &str| lines.contains(&line);
    let log = || fs::read_to_string(home.at("log")).unwrap_or_default();
    assert!(has("before 0") && has("login success 0"), "{said}\n{}", log());
    let resident = lines.iter().find_map(|line| line.strip_prefix("after ")).unwrap();
    assert_ne!(resident.trim(), "0", "the login made the program hot: {said}\n{}", log());
    // 1: something was left out. Nobody looks at a failed unit for that.
    assert!(has("battery success 1") && has("battery 0"), "{said}\n{}", log());
    assert!(has("path active waiting") && has("service 0"), "{said}\n{}", log());
    assert!(has("refresh success 0"), "{said}\n{}", log());
    assert_eq!(lines.iter().filter(|line| **line == "path active waiting").count(), 2, "it watches again: {said}");
    let listing = home.json(&["installed", "other", "--user"]).1;
    assert_eq!(listing["installations"][0]["health"], "fresh", "{listing:#}");
}
