//! Whether the machine runs on battery (`Documentation/ABI/testing/sysfs-class-power`).

use std::path::Path;

/// A directory for each battery, charger and peripheral.
pub const SUPPLIES: &str = "/sys/class/power_supply";

/// Whether the supplies below a directory say that the machine runs on battery: a battery of the machine is discharging and no
/// charger is online. Batteries of peripherals (`scope` is `Device`) do not count. False where nothing is known.
pub fn is_on_battery(supplies: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(supplies) else { return false };
    let mut discharging = false;
    for entry in entries.flatten() {
        let value = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default().trim().to_owned();
        match &*value("type") {
            "Battery" | "UPS" => discharging |= value("scope") != "Device" && value("status") == "Discharging",
            // A mains adapter or a charger by USB.
            "" => {}
            _ if value("online") == "1" => return false,
            _ => {}
        }
    }
    discharging
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mouse_is_no_battery_of_the_machine() {
        let directory = tempfile::tempdir().unwrap();
        let set = |supply: &str, name: &str, value: &str| {
            let path = directory.path().join(supply);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join(name), format!("{value}\n")).unwrap();
        };
        assert!(!is_on_battery(&directory.path().join("none")) && !is_on_battery(directory.path()));
        for (name, value) in [("type", "Battery"), ("scope", "Device"), ("status", "Discharging")] {
            set("mouse", name, value);
        }
        assert!(!is_on_battery(directory.path()));
        set("BAT0", "type", "Battery");
        set("BAT0", "status", "Discharging");
        assert!(is_on_battery(directory.path()));
        set("AC", "type", "Mains");
        set("AC", "online", "0");
        assert!(is_on_battery(directory.path()));
        set("AC", "online", "1");
        assert!(!is_on_battery(directory.path()));
    }
}
